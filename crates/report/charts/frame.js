// What charts of ordinary axes share: the head, the notes, panels below each other, axes and the legend.
'use strict';

// Colours of systems, after Okabe and Ito, and four more: as many as an overlay has systems. Each is seen on white and on black.
plumb.systems = ['#0072b2', '#d55e00', '#00845f', '#b8508f', '#a87400', '#2d8cc4', '#7a4fbf', '#6f7a8a', '#4d7c0f', '#c04a62', '#4a5bd4', '#956650'];
plumb.systemColour = (index) => plumb.systems[index % plumb.systems.length];

// Title, sentences and notes: marks, where the drawing begins, and how much the notes need below it.
plumb.frame = (data, look, left) => {
  const from = look.narrow ? 10 : left;
  const room = look.width - from - (look.narrow ? 10 : 30);
  const title = plumb.title(look.title || data.title, from, room, look);
  const { marks } = title;
  const lines = (data.sentences || []).flatMap((text) => plumb.wrap(text, room, look.font(13.5))).slice(0, look.narrow ? 10 : 6);
  lines.forEach((line, index) => marks.push({ shape: plumb.text(from, 62 + title.more + index * 20, line, look.font(13.5), look.ink) }));
  const notes = (data.notes || []).flatMap((text) => plumb.wrap(text, room, look.font(10))).slice(0, look.narrow ? 20 : 12);
  if (look.height) {
    notes.forEach((line, index) => marks.push({ shape: plumb.text(from, look.height - 14 * (notes.length - index), line, look.font(10), look.soft) }));
  }
  return { marks, top: 66 + title.more + lines.length * 20 + (look.narrow ? 8 : 0), below: 14 * notes.length + (notes.length ? 14 : 0) };
};

// The title, in as many lines as a narrow picture needs, and how many pixels the lines after the first take.
plumb.title = (text, left, room, look) => {
  const font = look.font(look.narrow ? 15 : 20, true);
  const lines = look.narrow ? plumb.wrap(text, room, font).slice(0, 4) : [plumb.fit(text, room, font)];
  return { marks: lines.map((line, index) => ({ shape: plumb.text(left, 34 + index * 20, line, font, look.ink) })), more: (lines.length - 1) * 20 };
};

// The left edge of a panel: a narrow picture has the names of its axes above them.
plumb.left = (look) => (look.narrow ? 60 : 96);
plumb.above = (axis, look) => (look.narrow && axis.name
  ? { ...axis, name: axis.name.replaceAll('\n', ' '), nameLocation: 'end', nameGap: 7, nameTextStyle: { ...axis.nameTextStyle, fontSize: 10.5, width: undefined, align: 'left', verticalAlign: 'bottom' } }
  : axis);

// The parts of an option that all of these charts have.
plumb.option = (data, look, frame, parts) => ({
  backgroundColor: look.paper,
  textStyle: { fontFamily: plumb.family, color: look.ink },
  tooltip: { trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 } },
  aria: { enabled: true, label: { description: [data.title, ...(data.sentences || [])].join('. ') } },
  ...parts,
  ...(parts.yAxis ? { yAxis: [parts.yAxis].flat().map((axis) => plumb.above(axis, look)) } : {}),
  series: [...parts.series, plumb.marks(frame.marks, look)],
});

// A legend that switches; none for a single name.
plumb.legend = (names, look, top, left) => ({
  show: names.length > 1, type: 'plain', top, left, data: names, itemWidth: 22, itemHeight: 9, itemGap: 16, padding: 0,
  width: look.width - left - 40,
  textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 11.5 },
  formatter: (name) => plumb.fit(name, 200, look.font(11.5)),
});

// How many pixels a legend needs: its names wrap at the sheet's width.
plumb.legendHeight = (names, look, left) => {
  if (names.length < 2) return 0;
  let [rows, x] = [1, 0];
  for (const name of names) {
    const wide = 27 + 16 + plumb.wide(plumb.fit(name, 200, look.font(11.5)), look.font(11.5));
    if (x > 0 && x + wide > look.width - left - 40) [rows, x] = [rows + 1, 0];
    x += wide;
  }
  // The rows of a narrow picture hold less than their width.
  return (rows + (look.narrow && rows > 3 ? 1 : 0)) * 24;
};

// The height of a chart: its head and its legend, panels of this height, its notes.
plumb.heightOf = (data, look, names, panels) => {
  const frame = plumb.frame(data, { ...look, height: 0 }, plumb.left(look));
  return frame.top + plumb.legendHeight(names, look, plumb.left(look)) + panels + frame.below;
};

plumb.unique = (names) => [...new Set(names)];

// An axis; `shown` writes its values.
plumb.axis = (look, name, shown, parts) => ({
  type: 'value', name, nameLocation: 'middle', nameGap: 62,
  nameTextStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 11.5, lineHeight: 14 },
  axisLabel: { color: look.ink, fontFamily: plumb.family, fontSize: 11, formatter: shown, hideOverlap: true },
  axisLine: { show: true, lineStyle: { color: look.axis } },
  axisTick: { show: false },
  splitLine: { show: true, lineStyle: { color: look.line } },
  ...parts,
});

// The axis of latencies, logarithmic or from 0, that holds all these values.
plumb.latencyAxis = (look, name, values, parts) => {
  const known = values.filter((value) => value > 0);
  if (look.scale === 'linear') return plumb.axis(look, name, plumb.tick, { min: 0, ...parts });
  // The round values (1, 2, 5) around all.
  const round = (value, up) => {
    const power = 10 ** Math.floor(Math.log10(value));
    const steps = [1, 2, 5, 10].map((step) => step * power);
    return up ? steps.find((step) => step >= value * 0.999) : steps.filter((step) => step <= value * 1.001).pop();
  };
  const high = round(known.length > 0 ? Math.max(...known) * 1.1 : 1e9, true);
  const low = Math.min(round(known.length > 0 ? Math.min(...known) / 1.1 : 1e3, false), high / 10);
  return plumb.axis(look, name, plumb.tick, { type: 'log', min: low, max: high, ...parts });
};

// How a unit is written on an axis and in words.
plumb.units = {
  count: { axis: (value) => plumb.count(value), says: (value) => plumb.count(value) },
  rate: { axis: (value) => plumb.mebibytes(value), says: (value) => plumb.rate(value) },
  latency: { axis: (value) => plumb.tick(value), says: (value) => plumb.time(value) },
  share: { axis: (value) => plumb.percent(value), says: (value) => plumb.percent(value) },
};

// The axis of throughputs: round in MiB/s, from 0.
plumb.rateAxis = (look, name, values, parts) => {
  const most = Math.max(...values.filter((value) => value > 0), 1048576 / 1e3) * 1.08;
  const interval = plumb.step(most / 1048576, 4) * 1048576;
  return plumb.axis(look, name, plumb.units.rate.axis, { min: 0, max: Math.ceil(most / interval) * interval, interval, ...parts });
};

// Words for a tooltip, harmless whatever names say.
plumb.said = (lines) => lines.map((line) => echarts.format.encodeHTML(line)).join('<br>');

// The dashed line of the target.
plumb.targetLine = (target, look) => ({
  symbol: 'none', silent: true, animation: false,
  lineStyle: { color: look.target, type: [9, 4], width: 1.2 },
  label: { position: 'insideStartTop', color: look.target, fontSize: 10, fontFamily: plumb.family, formatter: `target ${plumb.tick(target)}` },
  data: target > 0 ? [{ yAxis: target }] : [],
});
