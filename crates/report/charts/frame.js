// What charts of ordinary axes share: the head, the notes, panels below each other, axes and the legend.
'use strict';

// Colours of systems, apart for every eye (Okabe and Ito).
plumb.systems = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a4fbf', '#8a94a3'];
plumb.systemColour = (index) => plumb.systems[index % plumb.systems.length];

// Title, sentences and notes: marks, where the drawing begins, and how much the notes need below it.
plumb.frame = (data, look, left) => {
  const room = look.width - left - 30;
  const title = plumb.fit(look.title || data.title, room, look.font(20, true));
  const marks = [{ shape: plumb.text(left, 34, title, look.font(20, true), look.ink) }];
  const lines = (data.sentences || []).flatMap((text) => plumb.wrap(text, room, look.font(13.5))).slice(0, 6);
  lines.forEach((line, index) => marks.push({ shape: plumb.text(left, 62 + index * 20, line, look.font(13.5), look.ink) }));
  const notes = (data.notes || []).flatMap((text) => plumb.wrap(text, room, look.font(10))).slice(0, 12);
  if (look.height) {
    notes.forEach((line, index) => marks.push({ shape: plumb.text(left, look.height - 14 * (notes.length - index), line, look.font(10), look.soft) }));
  }
  return { marks, top: 66 + lines.length * 20, below: 14 * notes.length + (notes.length ? 14 : 0) };
};

// The parts of an option that all of these charts have.
plumb.option = (data, look, frame, parts) => ({
  backgroundColor: look.paper,
  textStyle: { fontFamily: plumb.family, color: look.ink },
  tooltip: { trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 } },
  aria: { enabled: true, label: { description: [data.title, ...(data.sentences || [])].join('. ') } },
  ...parts,
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
    const wide = 27 + 16 + echarts.format.getTextRect(plumb.fit(name, 200, look.font(11.5)), look.font(11.5)).width;
    if (x > 0 && x + wide > look.width - left - 40) [rows, x] = [rows + 1, 0];
    x += wide;
  }
  return rows * 24;
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
  rate: { axis: (value) => plumb.grouped(+(value / 1048576).toPrecision(4)), says: (value) => plumb.rate(value) },
  latency: { axis: (value) => plumb.tick(value), says: (value) => plumb.time(value) },
  share: { axis: (value) => `${Math.round(value * 100)} %`, says: (value) => plumb.percent(value) },
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
