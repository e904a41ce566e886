// The table of all numbers: sorted by a click on a heading, and handed out as CSV and JSON.
'use strict';

(() => {
  const { data, make } = plumb.page;
  const { columns, rows } = data.numbers;
  const table = document.querySelector('table.numbers');
  // More than these are taken off the page until somebody wants them: a browser is slow with large tables.
  const most = 300;

  const save = (text, type, name) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = make('a', { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  // A spreadsheet computes text that begins with one of these; an apostrophe tells it not to.
  const computed = /^[=+\-@]./;
  const quoted = (value) => {
    const plain = value === null || value === undefined ? '' : String(value);
    const text = typeof value === 'string' && computed.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = () => [columns.map((column) => column.id), ...rows].map((row) => row.map(quoted).join(',')).join('\r\n') + '\r\n';

  const downloads = document.querySelector('.downloads');
  downloads.append(
    make('button', { type: 'button', onclick: () => save(csv(), 'text/csv', 'plumb-report.csv') }, 'Download CSV'),
    make('button', { type: 'button', onclick: () => save(`${JSON.stringify(data, null, 1)}\n`, 'application/json', 'plumb-report.json') }, 'Download JSON'),
  );
  downloads.hidden = false;
  if (!table) return;

  const body = table.tBodies[0];
  const lines = [...body.rows];
  let order = lines.map((_, index) => index);
  let all = lines.length <= most;
  const show = () => body.replaceChildren(...(all ? order : order.slice(0, most)).map((index) => lines[index]));
  if (!all) {
    const more = make('button', { type: 'button', onclick: () => { all = true; more.remove(); show(); } }, `Show all ${lines.length} rows`);
    table.parentElement.after(more);
    addEventListener('beforeprint', () => { all = true; more.remove(); show(); });
    show();
  }

  const compare = (one, other) => {
    if (one === other) return 0;
    if (one === null) return 1;
    if (other === null) return -1;
    if (typeof one === 'number' && typeof other === 'number') return one - other;
    return String(one).localeCompare(String(other), undefined, { numeric: true });
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make('button', { type: 'button' }, ...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      // What is not known stays at the end, whichever way.
      order = lines.map((_, index) => index).sort((one, other) => {
        const [left, right] = [rows[one][column], rows[other][column]];
        const known = (left === null) - (right === null);
        return known || (down ? -compare(left, right) : compare(left, right)) || one - other;
      });
      show();
    });
  });
})();
