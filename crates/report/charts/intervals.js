// Groups of rows with an interval each, against an axis that they share: changes against a tolerance, rounds against limits.
'use strict';

// Height of the line above the rows of a group.
plumb.groupHead = 34;

// Height of groups with these numbers of rows.
plumb.heightOfGroups = (counts, row) => counts.reduce((sum, count) => sum + plumb.groupHead + row * count, 0);

// Height of a picture of them.
plumb.heightOfIntervals = (data, look, from, counts, row) => {
  const frame = plumb.frame(data, { ...look, height: 0 }, from);
  return frame.top + 28 + plumb.heightOfGroups(counts, row) + 62 + frame.below;
};

// A picture of them. `ground(top, bottom)` draws what is behind the rows; `head(index, middle)` and `line(group, index, y, height)` draw
// the line above a group and one of its rows.
plumb.intervals = (data, look, from, counts, row, { ground, head, line }) => {
  const frame = plumb.frame(data, look, from);
  const [top, bottom] = [frame.top + 28, look.height - frame.below - 50];
  const marks = [...frame.marks, ...ground(top, bottom)];
  // A height that was asked for divides among the rows.
  const wanted = plumb.heightOfGroups(counts, row);
  const part = wanted > 0 ? Math.min((bottom - top - 4) / wanted, 1) : 1;
  let y = top + 4;
  counts.forEach((count, group) => {
    marks.push(...head(group, y + (plumb.groupHead * part) / 2 + 4));
    y += plumb.groupHead * part;
    for (let index = 0; index < count; index += 1) {
      marks.push(...line(group, index, y, row * part));
      y += row * part;
    }
  });
  return {
    backgroundColor: look.paper,
    tooltip: { trigger: 'item', confine: true },
    aria: { enabled: true, label: { description: [data.title, ...data.sentences].join('. ') } },
    series: [plumb.marks(marks, look)],
  };
};

// The ticks that have room, from the middle one outwards.
plumb.ticksFrom = (middle, others, look) => {
  const gap = look.narrow ? 42 : 50;
  const side = (ticks) => plumb.sparse([middle, ...ticks], gap).slice(1);
  return [middle, ...side(others.filter((tick) => tick.at > middle.at)), ...side(others.filter((tick) => tick.at < middle.at).reverse())];
};

// The axis below the rows with its title.
plumb.intervalsAxis = (look, scale, bottom, title) => [
  { shape: plumb.line([[scale.plot, bottom], [scale.plotEnd, bottom]], look.axis, 1) },
  { shape: plumb.text((scale.plot + scale.plotEnd) / 2, bottom + 34, title, look.font(11), look.soft, 'center') },
];

// A number with its interval, if it has one. An end is a stroke; one beyond the axis is an arrow. Without an interval the number is
// hollow: nothing is known of its noise.
plumb.interval = (value, ends, y, ink, look, scale, says) => {
  const marks = [];
  if (ends) {
    const [left, right] = ends.map(scale.at);
    marks.push({ shape: plumb.line([[left, y], [right, y]], ink, 2.4) });
    for (const [end, x, way] of [[ends[0], left, 1], [ends[1], right, -1]]) {
      marks.push({ shape: scale.isInside(end) ? plumb.line([[x, y - 5], [x, y + 5]], ink, 1.6) : plumb.line([[x + 5 * way, y - 5], [x, y], [x + 5 * way, y + 5]], ink, 1.6) });
    }
  }
  const box = plumb.rect(scale.at(value) - 4, y - 4, 8, 8, ends ? ink : look.paper, { stroke: ink, lineWidth: 1.6 });
  return [...marks, { shape: box, says }];
};
