// Labels that do not lie upon each other.
'use strict';

// Moves positions apart until each is at least `gap` from the next, all within `low` to `high`, as little as possible.
// Returns the positions in the order given.
plumb.apart = (positions, gap, low, high) => {
  const order = positions.map((at, index) => ({ at, index })).sort((one, other) => one.at - other.at);
  const room = Math.min(gap, order.length > 1 ? (high - low) / (order.length - 1) : gap);
  // Groups of labels that touch; each stands around the mean of where its labels want to be.
  const groups = [];
  for (const { at, index } of order) {
    groups.push({ wanted: [at], members: [index], start: at });
    for (;;) {
      const last = groups[groups.length - 1];
      const half = ((last.members.length - 1) * room) / 2;
      const mean = last.wanted.reduce((sum, value) => sum + value, 0) / last.wanted.length;
      last.start = Math.min(Math.max(mean - half, low), high - 2 * half);
      const before = groups[groups.length - 2];
      if (!before || before.start + before.members.length * room <= last.start) break;
      before.wanted.push(...last.wanted);
      before.members.push(...last.members);
      groups.pop();
    }
  }
  const placed = [];
  for (const group of groups) group.members.forEach((index, place) => { placed[index] = group.start + place * room; });
  return placed;
};

// Those of the positions (ascending or descending) that keep `gap` from the last one kept.
plumb.sparse = (items, gap) => items.filter(((last) => (item) => {
  if (last !== undefined && Math.abs(item.at - last) < gap) return false;
  last = item.at;
  return true;
})());

// Text cut to a width, with an ellipsis.
plumb.fit = (text, width, font) => {
  const wide = (part) => plumb.wide(part, font);
  if (wide(text) <= width) return text;
  // No letter is narrower than two pixels.
  const letters = Array.from(text).slice(0, Math.max(Math.ceil(width / 2), 1));
  while (letters.length > 1 && wide(`${letters.join('')}…`) > width) letters.pop();
  return `${letters.join('')}…`;
};

// Text broken into lines of at most `width`, at blanks.
plumb.wrap = (text, width, font) => {
  const wide = (part) => plumb.wide(part, font);
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = lines[lines.length - 1] ? `${lines[lines.length - 1]} ${word}` : word;
    if (wide(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(plumb.fit(word, width, font));
  }
  return lines.filter(Boolean);
};

// The box of a text mark, as wide as its longest line.
plumb.boxOf = (mark) => {
  const { style, x, y, rotation } = mark.shape;
  const width = plumb.wide(style.text, style.font) + (style.padding ? 2 * style.padding[1] : 0);
  const size = parseFloat(style.font.match(/([\d.]+)px/)[1]);
  const height = (style.text.split('\n').length - 1) * (style.lineHeight || size * 1.2) + size;
  const left = style.align === 'right' ? x - width : style.align === 'center' ? x - width / 2 : x;
  if (rotation) return { left: x - height / 2, right: x + height / 2, top: y - width / 2, bottom: y + width / 2 };
  return { left, right: left + width, top: y - height / 2, bottom: y + height / 2 };
};

// What is written so far on a sheet: `take` writes, `offer` writes only where nothing is yet.
plumb.written = () => {
  const boxes = [];
  const meets = (one, other) => one.left < other.right + 2 && other.left < one.right + 2 && one.top < other.bottom && other.top < one.bottom;
  return {
    take: (marks) => { for (const mark of marks) if (mark.shape.type === 'text') boxes.push(plumb.boxOf(mark)); return marks; },
    offer: (...candidates) => {
      const found = candidates.find((mark) => !boxes.some((box) => meets(box, plumb.boxOf(mark))));
      if (found) boxes.push(plumb.boxOf(found));
      return found ? [found] : [];
    },
  };
};

// The longest of the texts that fits a width, or the last one cut.
plumb.longest = (texts, width, font) =>
  texts.find((text) => plumb.wide(text, font) <= width) || plumb.fit(texts[texts.length - 1], width, font);
