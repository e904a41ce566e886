// What the program and each device counted.
'use strict';

const devicesRow = 34;

plumb.heights.devices = (data, look) => {
  const frame = plumb.frame(data, { ...look, height: 0 }, 48);
  return frame.top + 56 + data.rows.length * devicesRow + 24 + frame.below;
};

plumb.charts.devices = (data, look) => {
  const frame = plumb.frame(data, look, 48);
  const marks = [];
  const devicesMost = look.narrow ? 1 : 4;
  const names = plumb.unique(data.rows.flatMap((row) => row.devices.map(([name]) => name)));
  const shown = names.slice(0, devicesMost);
  const written = (row, value) => {
    if (typeof value !== 'number') return '–';
    if (row.quantity === 'iops') return `${plumb.number(value)} /s`;
    if (row.quantity === 'rate') return plumb.rate(value);
    if (row.quantity === 'latency') return plumb.time(value);
    return row.quantity === 'utilisation' ? plumb.percent(value) : plumb.number(value);
  };
  const heads = ['', 'program', ...shown, look.narrow ? 'ratio' : 'devices ÷ program'];
  const [left, first, right] = look.narrow ? [10, 140, look.width - 10] : [48, 200, look.width - 48];
  const wide = (right - first) / (heads.length - 1);
  const end = (column) => (column === 0 ? left : first + column * wide - 14);
  const put = (column, y, text, bold, ink) => marks.push({
    shape: plumb.text(end(column), y, plumb.fit(text, (column === 0 ? first - left : wide) - 12, look.font(12.5, bold)), look.font(12.5, bold), ink, column === 0 ? 'left' : 'right'),
  });
  const top = frame.top + 18;
  heads.forEach((head, column) => put(column, top, head, false, look.soft));
  marks.push({ shape: plumb.line([[left, top + 16], [right, top + 16]], look.axis, 1.2) });
  data.rows.forEach((row, index) => {
    const y = top + 36 + index * devicesRow;
    put(0, y, row.what, true, look.ink);
    put(1, y, written(row, row.program), false, look.ink);
    shown.forEach((name, place) => {
      const found = row.devices.find(([device]) => device === name);
      put(2 + place, y, written(row, found && found[1]), false, look.ink);
    });
    if (typeof row.ratio === 'number') {
      const off = Math.max(row.ratio, 1 / Math.max(row.ratio, 1e-9));
      const fill = off <= 1.1 ? look.between : off <= 2 ? look.over : look.slower;
      const x = end(heads.length - 1);
      marks.push({ shape: { ...plumb.rect(x - Math.min(84, wide - 20), y - 11, Math.min(92, wide - 12), 22, fill, { stroke: off <= 1.1 ? look.betweenInk : off <= 2 ? look.overInk : look.alarm, lineWidth: 0.8 }), name: 'ratio' }, says: `${row.what}: devices ÷ program = ${plumb.fixed(row.ratio, 3)}` });
      put(heads.length - 1, y, plumb.times(row.ratio), true, off <= 1.1 ? look.betweenInk : off <= 2 ? look.overInk : look.alarm);
    }
    marks.push({ shape: plumb.line([[left, y + devicesRow / 2], [right, y + devicesRow / 2]], look.line, 1) });
  });
  if (names.length > shown.length) {
    marks.push({ shape: plumb.text(left, top + 36 + data.rows.length * devicesRow, `and ${names.length - shown.length} more devices, counted in the last column`, look.font(11), look.soft) });
  }
  frame.marks.push(...marks);
  return plumb.option(data, look, frame, { tooltip: { trigger: 'item', confine: true }, series: [] });
};
