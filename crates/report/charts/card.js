// The report card: a row per workload with its histogram over the grade bands, letters, throughput and scaling.
'use strict';

plumb.gradeColours = {
  'A+': '#1d7f5a', A: '#41a06a', 'A-': '#7fbb7a', 'B+': '#b8cf72', B: '#d9d36b', 'B-': '#e6cf62', 'C+': '#eebf55', C: '#f0a94a', 'C-': '#ec9140', D: '#c8352e',
};

plumb.cardNotes = (data, look) => data.notes.flatMap((note) => plumb.wrap(note, look.width - (look.small ? 24 : 96), look.font(10))).slice(0, look.small ? 30 : 12);

// A picture that has no room for the columns has them below each other.
plumb.cardLook = (look) => ({ ...look, small: look.width < 1100 });
plumb.cardTop = (data, look) => (look.small ? 60 + plumb.cardHeadLines(data, look).length * 20 + plumb.title(look.title || data.title, 12, look.width - 24, look).more : 154);
plumb.cardHeadLines = (data, look) => data.sentences.slice(0, 2).flatMap((text) => plumb.wrap(text, look.width - 24, look.font(12.5)));
// A row is as high as the reasons for its missing grades need, which are never cut.
plumb.cardReasons = (row, look) => {
  const reasons = [row.scaling && row.scaling.reason, row.reason].filter((reason, index, all) => reason && all.indexOf(reason) === index);
  const room = look.width - plumb.cardColumns(look).scaling - (look.small ? 12 : 48);
  return reasons.flatMap((reason) => plumb.wrap(`⚠ ${reason}`, room, look.font(11, true)));
};
plumb.cardRow = (row, look) => (look.small ? 332 : 106) + 14 * Math.max(plumb.cardReasons(row, look).length, look.small ? 1 : 3);

plumb.heights.card = (data, asked) => {
  const look = plumb.cardLook(asked);
  const rows = data.rows.reduce((sum, row) => sum + plumb.cardRow(row, look), 0);
  return plumb.cardTop(data, look) + rows + 34 + 14 * plumb.cardNotes(data, look).length;
};

plumb.charts.card = (data, asked) => {
  const look = plumb.cardLook(asked);
  const notes = plumb.cardNotes(data, look);
  const head = plumb.cardTop(data, look);
  const heights = data.rows.map((row) => plumb.cardRow(row, look));
  const squeeze = Math.min(1, (look.height - head - 34 - 14 * notes.length) / Math.max(heights.reduce((sum, height) => sum + height, 0), 1));
  const marks = [...plumb.cardHead(data, look)];
  const columns = plumb.cardColumns(look);
  const scale = plumb.cardScale(data, columns);
  const margin = look.small ? 12 : 48;
  data.rows.forEach((row, index) => {
    const rowHeight = heights[index] * squeeze;
    const top = head + heights.slice(0, index).reduce((sum, height) => sum + height, 0) * squeeze;
    const at = look.small ? { letters: top + 26, histogram: top + 120, scaling: top + 228 } : { letters: top, histogram: top, scaling: top };
    marks.push(...plumb.cardWorkload(row, look, top, columns), ...plumb.cardHistogram(row, look, at.histogram, look.small ? 148 : rowHeight, scale));
    marks.push(...plumb.cardLetters(row, look, at.letters, columns), ...plumb.cardScaling(row, look, at.scaling, columns));
    marks.push({ shape: plumb.line([[margin, top + rowHeight], [look.width - margin, top + rowHeight]], look.line, 1) });
  });
  notes.forEach((line, index) => marks.push({ shape: plumb.text(margin, look.height - 14 * (notes.length - index) - 6, line, look.font(10), look.soft) }));
  return {
    backgroundColor: look.paper,
    tooltip: { trigger: 'item', confine: true },
    aria: { enabled: true, label: { description: [data.title, ...data.sentences].join('. ') } },
    series: [plumb.marks(marks, look)],
  };
};

plumb.cardColumns = (look) => (look.small
  ? { workload: 12, workloadEnd: look.width - 12, histogram: 24, histogramEnd: look.width - 24, letters: 12, rate: 236, scaling: 12 }
  : { workload: 48, workloadEnd: 235, histogram: 243, histogramEnd: 562, letters: 600, rate: 832, scaling: 978 });

plumb.cardHead = (data, look) => {
  if (look.small) {
    const title = plumb.title(look.title || data.title, 12, look.width - 24, look);
    const lines = plumb.cardHeadLines(data, look).map((line, index) => ({ shape: plumb.text(12, 62 + title.more + index * 20, line, look.font(12.5), look.ink) }));
    return [...title.marks, ...lines];
  }
  const marks = [{ shape: plumb.text(48, 46, plumb.fit(look.title || data.title, look.width - 96, look.font(26, true)), look.font(26, true), look.ink) }];
  data.sentences.slice(0, 2).forEach((text, index) => {
    // A long verdict is written smaller before it is cut.
    const font = look.font(plumb.wide(text, look.font(15)) <= look.width - 96 ? 15 : 12.5);
    marks.push({ shape: plumb.text(48, 83 + index * 24, plumb.fit(text, look.width - 96, font), font, look.ink) });
  });
  const columns = plumb.cardColumns(look);
  const heads = [
    [columns.workload, 'workload'], [columns.histogram, 'where the I/Os landed (log scale, true edges)'], [columns.letters, 'latency grade (on p95)'],
    [columns.rate, 'throughput'], [columns.scaling, 'scaling: added load that queued'],
  ];
  for (const [x, text] of heads) marks.push({ shape: plumb.text(x, 138, text, look.font(11.5), look.soft) });
  marks.push({ shape: plumb.line([[48, 153], [look.width - 48, 153]], look.axis, 1.2) });
  return marks;
};

// One latency axis for all rows.
plumb.cardScale = (data, { histogram, histogramEnd }) => {
  const values = data.rows.flatMap((row) => [
    ...row.bins.filter((bin) => bin.share > 0).flatMap((bin) => [bin.from_ns, bin.to_ns]),
    ...[row.p95, row.p99, row.average].filter(Boolean).map((mark) => mark.ns),
    ...row.bands.map((band) => band.to_ns),
  ]).filter((value) => value > 0);
  const low = Math.min(...values, 1e5) / 2;
  const high = Math.max(...values, 1e8) * 2;
  const at = (ns) => histogram + (Math.log(Math.min(Math.max(ns, low), high) / low) / Math.log(high / low)) * (histogramEnd - histogram);
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) ticks.push(10 ** power);
  return { at, low, high, ticks, histogram, histogramEnd };
};

plumb.cardWorkload = (row, look, top, { workload: x, workloadEnd }) => {
  const room = workloadEnd - x;
  if (look.small) {
    const detail = `${row.detail} · ${row.load}`;
    return [
      { shape: plumb.text(x, top + 18, plumb.fit(row.workload, room, look.font(15, true)), look.font(15, true), look.ink) },
      { shape: plumb.text(x, top + 40, plumb.fit(detail, room, look.font(11.5)), look.font(11.5), look.soft) },
    ];
  }
  return [
    { shape: plumb.text(x, top + 48, plumb.fit(row.workload, room, look.font(15.5, true)), look.font(15.5, true), look.ink) },
    { shape: plumb.text(x, top + 73, plumb.fit(row.detail, room, look.font(12.5)), look.font(12.5), look.soft) },
    { shape: plumb.text(x, top + 95, plumb.fit(row.load, room, look.font(12.5)), look.font(12.5), look.soft) },
  ];
};

plumb.cardHistogram = (row, look, top, height, scale) => {
  const { histogram, histogramEnd } = scale;
  const [high, base] = [top + 26, top + Math.min(104, height - 44)];
  const marks = [];
  for (const tick of scale.ticks) {
    const x = scale.at(tick);
    marks.push({ shape: plumb.line([[x, high], [x, base]], look.line, 1) });
    marks.push({ shape: plumb.text(x, base + 20, plumb.tick(tick), look.font(10), look.soft, 'center') });
  }
  for (const bin of row.bins) {
    if (!(bin.share > 0)) continue;
    const [left, right] = [bin.from_ns > 0 ? scale.at(bin.from_ns) : histogram, scale.at(bin.to_ns)];
    const tall = Math.max(bin.share * (base - high), 0.7);
    const says = `${row.workload}\n${plumb.percent(bin.share)} of I/Os\n${plumb.tick(bin.from_ns)} to ${plumb.tick(bin.to_ns)}`;
    marks.push({ shape: { ...plumb.rect(left, base - tall, right - left, tall, plumb.colourOf(bin.to_ns, look), plumb.filled(plumb.colourOf(bin.to_ns, look), look, { stroke: look.paper, lineWidth: 0.6 })), name: 'bin' }, says });
  }
  marks.push({ shape: plumb.line([[histogram, base], [histogramEnd, base]], look.axis, 1) });
  let from = histogram;
  for (const band of row.bands) {
    const to = band.to_ns ? scale.at(band.to_ns) : histogramEnd;
    const says = band.to_ns ? `${band.letter}: up to ${plumb.tick(band.to_ns)}` : `${band.letter}: above`;
    marks.push({ shape: plumb.rect(from, base + 4, to - from, 7, plumb.gradeColours[band.letter] || look.faint, plumb.filled(plumb.gradeColours[band.letter] || look.faint, look, { stroke: look.paper, lineWidth: 0.5 })), says });
    from = to;
  }
  const lines = [['avg', row.average, look.average], ['p95', row.p95, look.alarm]].filter(([, mark]) => mark);
  const wanted = lines.map(([, mark]) => scale.at(mark.ns));
  const places = plumb.apart(wanted, 25, histogram + 10, histogramEnd - 10);
  lines.forEach(([name, mark, ink], index) => {
    marks.push({ shape: plumb.line([[wanted[index], high - 2], [wanted[index], base + 12]], ink, 2) });
    marks.push({ shape: plumb.text(places[index], high - 10, name, look.font(10.5), ink, 'center'), says: `${name} ${plumb.time(mark.ns)}` });
  });
  return marks;
};

plumb.letter = (x, y, size, letter, look) => {
  const fill = plumb.gradeColours[letter];
  const shape = { x, y, width: size * (size > 40 ? 1 : 1.45), height: size, r: size > 40 ? 6 : size / 2 };
  // A dash: measured, without bounds that could grade it.
  const open = letter === '–' ? look.soft : look.alarm;
  const box = fill
    ? { type: 'rect', shape, style: plumb.filled(fill, look) }
    : { type: 'rect', shape, style: { fill: 'none', stroke: open, lineWidth: 1.6, lineDash: [4, 3] } };
  const ink = fill ? plumb.inkOn(fill) : open;
  return [{ shape: box }, { shape: plumb.text(x + shape.width / 2, y + size / 2 + 0.5, letter, look.font(Math.round(size * (size > 40 ? 0.38 : 0.55)), true), ink, 'center') }];
};

plumb.cardLetters = (row, look, top, { letters, rate }) => {
  const marks = row.p95 ? plumb.letter(letters, top + 33, 58, row.p95.letter, look) : plumb.letter(letters, top + 33, 58, '?', look);
  const small = [['avg', row.average], ['p95', row.p95], ['p99', row.p99]].filter(([, mark]) => mark);
  small.forEach(([name, mark], index) => {
    const y = top + 33 + index * 24;
    marks.push(...plumb.letter(letters + 77, y, 19, mark.letter, look));
    marks.push({ shape: plumb.text(letters + 113, y + 10, `${name}  ${plumb.time(mark.ns)}`, look.font(12.5, name === 'p95'), look.ink) });
  });
  marks.push({ shape: plumb.text(rate, top + 50, plumb.rate(row.rate), look.font(15, true), look.ink) });
  marks.push({ shape: plumb.text(rate, top + 74, `${plumb.number(row.iops)} IOPS`, look.font(12.5), look.soft) });
  return marks;
};

plumb.cardScaling = (row, look, top, { scaling: x }) => {
  const scaling = row.scaling;
  const reasons = plumb.cardReasons(row, look).map((line, index) => ({ shape: plumb.text(x, top + 109 + 14 * index, line, look.font(11, true), look.alarm) }));
  if (!scaling) return [{ shape: plumb.text(x, top + 60, row.load.includes('→') ? 'no scaling: a level has no p95' : 'one level only: no scaling', look.font(11.5), look.faint) }, ...reasons];
  const marks = plumb.letter(x, top + 41, 48, scaling.letter, look);
  const [bar, wide, y] = [x + 63, 145, top + 45];
  // The bar ends at 125 %: what queues more is as bad.
  const at = (share) => (Math.min(Math.max(share, 0), 1.25) / 1.25) * wide;
  marks.push({ shape: plumb.text(bar, top + 34, `p95: ${plumb.percent(Math.max(scaling.queueing, 0))} queued`, look.font(12.5, true), look.ink) });
  marks.push({ shape: plumb.rect(bar, y, wide, 11, look.line, { stroke: look.edge, lineWidth: 0.8 }) });
  marks.push({ shape: plumb.rect(bar, y, at(scaling.queueing), 11, scaling.rate_ratio < 0.995 ? look.falling : look.slower, { stroke: look.alarm, lineWidth: 0.8 }) });
  marks.push({ shape: plumb.line([[bar + at(1), y - 3], [bar + at(1), y + 16]], look.alarm, 1.5) });
  marks.push({ shape: plumb.text(bar + at(1), y + 24, 'all wait', look.font(9), look.alarm, 'center') });
  marks.push({ shape: plumb.text(bar, top + 86, `${scaling.load} ${plumb.times(scaling.load_ratio)} → MiB/s ${plumb.times(scaling.rate_ratio)}`, look.font(11.5), look.soft) });
  return [...marks, ...reasons];
};
