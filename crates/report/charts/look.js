// What all charts share: colours, type, and how numbers are written. Units are always printed.
'use strict';

// The colour ladder: blue up to 1 ms, green up to 10 ms, yellow to dark red above. Upper edges in nanoseconds.
plumb.ladder = [
  [10e3, '#041f4a'], [20e3, '#062a63'], [50e3, '#08306b'], [100e3, '#0b559f'], [250e3, '#2b7bba'], [500e3, '#539ecd'],
  [1e6, '#89bedc'], [2e6, '#1f8765'], [4e6, '#41ab82'], [10e6, '#85d0ad'], [20e6, '#ffe08a'], [50e6, '#fdc04e'],
  [100e6, '#fd9a3a'], [250e6, '#fb6a2a'], [500e6, '#e5402a'], [1e9, '#c71b29'], [2e9, '#8f0c25'], [Infinity, '#4d0519'],
];

// The same on black, where dark blue and dark red would not be seen.
plumb.darkLadder = ['#3f78c9', '#4a85d3', '#5592dc', '#61a0e4', '#74b0ec', '#8cc2f2', '#a8d5f7', '#2a9d76', '#4cb98f', '#8ad8b4', '#ffe08a', '#fdc04e', '#fd9a3a', '#fb6a2a', '#f0503c', '#e8434f', '#d94a6a', '#c4537f'];

// The colour of latencies up to `to` nanoseconds.
plumb.colourOf = (to, look) => {
  const place = plumb.ladder.findIndex(([edge]) => to <= edge * 1.0001);
  return look.dark ? plumb.darkLadder[place] : plumb.ladder[place][1];
};

// One colour for one meaning, in all pictures and on both papers.
plumb.meanings = {
  reads: '#0072b2', writes: '#d55e00', trims: '#6f7a8a',
  avg: '#3d8a8a', p50: '#00845f', p95: '#2d8cc4', p99: '#a87400', 'p99.9': '#d1343f',
  user: '#b8508f', system: '#7a4fbf', iowait: '#8a7a00', steal: '#cf3a70',
};
// Of what has a name and no meaning: devices, logs.
plumb.named = ['#5d8700', '#8a63d2', '#b06a3a', '#a0569e', '#4d7f9e', '#7f7f5a'];

// The colour of a line by its name; `reads p99` has that of p99.
plumb.colourOfLine = (name, names) => {
  const meaning = (text) => plumb.meanings[text] || plumb.meanings[`${text}s`] || plumb.meanings[text.split(' ').pop()];
  if (meaning(name)) return meaning(name);
  const others = names.filter((other) => !meaning(other));
  return plumb.named[others.indexOf(name) % plumb.named.length];
};

// How far two colours differ: the ratio of their luminances (WCAG 2), 1 to 21.
plumb.contrast = (one, other) => {
  const part = (colour, at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = (colour) => 0.2126 * part(colour, 1) + 0.7152 * part(colour, 3) + 0.0722 * part(colour, 5);
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};

// The style of a filled mark: what is hardly seen on the paper gets an edge that is.
plumb.filled = (fill, look, style) => (plumb.contrast(fill, look.paper) >= 3 ? { fill, ...style } : { fill, stroke: look.edge, lineWidth: 0.8 });

// Black or white, whichever can be read on a colour.
plumb.inkOn = (colour) => {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5) > 150 ? '#1a2433' : '#ffffff';
};

plumb.themes = {
  light: {
    paper: '#ffffff', ink: '#1a2433', soft: '#5b6776', faint: '#8a94a3', line: '#e3e7ec', axis: '#a9b4c2', veil: 'rgba(255,255,255,0.8)',
    wedge: 'rgba(91,103,118,0.12)', edge: '#6f7a8a', alarm: '#a31328', target: '#b97a10', under: '#d1e1f2', between: '#d6efe4', over: '#fde3c4',
    underInk: '#0b559f', betweenInk: '#1f8765', overInk: '#c05a0a', slower: '#f6cfcf', falling: '#dfa1a3', faster: '#cfe1f5', average: '#000000', max: '#c71b29',
  },
  dark: {
    paper: '#141a22', ink: '#e8edf3', soft: '#a9b4c2', faint: '#7d8896', line: '#2a333f', axis: '#55606e', veil: 'rgba(20,26,34,0.75)',
    wedge: 'rgba(169,180,194,0.16)', edge: '#8d98a6', dark: true, alarm: '#ff6b7a', target: '#e5a94b', under: '#1d3a5c', between: '#1c4637', over: '#5a3a14',
    underInk: '#9cc9f3', betweenInk: '#85d0ad', overInk: '#fdc04e', slower: '#5a2a30', falling: '#84333c', faster: '#24466b', average: '#ffffff', max: '#ff5a66',
  },
};

// From what was asked for to colours and type.
plumb.look = (chosen) => {
  const font = (size, bold) => `${bold ? 'bold ' : ''}${size}px ${plumb.family}`;
  return { ...chosen, ...plumb.themes[chosen.theme || 'light'], font };
};

// The data of a chart, from its JSON, with clean texts.
plumb.read = (json) => JSON.parse(json, (key, value) => (typeof value === 'string' ? plumb.clean(value) : value));

// A text without signs that no picture can hold, and no longer than a page.
plumb.clean = (text) => {
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]+/g, ' ');
  return Array.from(clean.slice(0, 4000)).slice(0, 1000).map((letter) => (/^[\ud800-\udfff]$/.test(letter) ? '\ufffd' : letter)).join('');
};

// The look with colours, type and a height: the one asked for, or the one that the data needs.
plumb.heights = {};
plumb.sized = (name, data, chosen) => {
  const look = plumb.look(chosen);
  look.narrow = look.width < 700;
  look.onPaper = chosen.medium === 'paper';
  look.height = look.height || (plumb.heights[name] ? Math.ceil(plumb.heights[name](data, look)) : 620);
  return look;
};

// Whether a line of latency is wanted: `avg`, `p95`, `p99`, `p99.99`, `max`.
plumb.shows = (look, name) => !look.lines || look.lines.includes(name);

// The latency that is marked: the one that was chosen (0 for none), else that of the data.
plumb.target = (data, look) => look.target_ns ?? data.target_ns ?? 0;

// The width of a text in pixels. Many pictures of a report have the same words, and each of them is laid out more than once.
const widths = new Map();
plumb.wide = (text, font) => {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = echarts.format.getTextRect(text, font).width;
    widths.set(key, width);
  }
  return width;
};

// A round step so that about `wanted` of them cover `span`.
plumb.step = (span, wanted) => {
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
};

// A series that draws marks at pixels of our own choosing; `says` is what a reader sees who points at one.
plumb.marks = (marks, look) => ({
  type: 'custom',
  coordinateSystem: 'none',
  clip: false,
  data: marks.map((mark, index) => ({ value: index, name: mark.says || '' })),
  renderItem: (params) => ({ ...marks[params.dataIndexInside].shape, silent: !marks[params.dataIndexInside].says }),
  tooltip: {
    formatter: (at) => echarts.format.encodeHTML(marks[at.dataIndex].says).replaceAll('\n', '<br>'),
    backgroundColor: look.paper,
    borderColor: look.axis,
    textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
  },
});

// Shapes, in pixels.
plumb.rect = (x, y, width, height, fill, style) => ({ type: 'rect', shape: { x, y, width, height }, style: { fill, ...style } });
plumb.line = (points, stroke, lineWidth, lineDash) => ({
  type: 'polyline', shape: { points }, style: { stroke, lineWidth, lineDash: lineDash || 'solid', fill: 'none' },
});
plumb.text = (x, y, text, font, fill, align, style) => ({
  type: 'text', x, y, style: { text, font, fill, align: align || 'left', verticalAlign: 'middle', ...style },
});
