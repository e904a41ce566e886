// The three-panel picture: latency (log) with a histogram at each level, average latency (linear) with queueing, throughput.
'use strict';

plumb.charts.sweep = (data, look) => {
  const figures = { ...data, target_ns: plumb.target(data, look), title: look.title || data.title };
  const sheet = plumb.sweepSheet(figures, look);
  const parts = data.levels.length === 1 ? [plumb.sweepHead, plumb.sweepNumbers, plumb.sweepDistribution, plumb.sweepNotes] : [plumb.sweepHead, plumb.sweepStrip, plumb.sweepLatency, plumb.sweepQueueing, plumb.sweepThroughput, plumb.sweepNotes];
  const marks = parts.flatMap((part) => part(figures, look, sheet));
  return {
    backgroundColor: look.paper,
    tooltip: { trigger: 'item', confine: true },
    aria: { enabled: true, label: { description: [data.title, data.flag, ...data.sentences].filter(Boolean).join('. ') } },
    series: [plumb.marks(marks, look)],
  };
};

// One level needs no axis of loads: it is as high as its histogram.
plumb.heights.sweep = (data, look) => {
  const { noteLines, headLines, shift, moreTitle } = plumb.sweepSheet({ ...data, title: look.title || data.title }, { ...look, height: 1190 });
  if (data.levels.length !== 1) return look.narrow ? (look.onPaper ? 690 : 860) + shift + 14 * noteLines.length : look.onPaper ? 700 : 1190;
  const rows = plumb.singleRow * data.levels[0].bins.length;
  const numbers = 100 + 24 * plumb.singleTimes(data, look).length;
  return plumb.singleTop(headLines, moreTitle) + (look.narrow ? numbers + rows : Math.max(rows, numbers)) + 14 * noteLines.length + 50;
};
plumb.singleRow = 27;
plumb.singleTop = (headLines, moreTitle) => 100 + moreTitle + 20 * headLines.length;

// The latencies of a single level: name, value, colour.
plumb.singleTimes = (data, look) => {
  const [level] = data.levels;
  const times = plumb.sweepKinds(look).filter((kind) => level[kind.key] > 0).reverse().map((kind) => ({ name: kind.name, ns: level[kind.key], ink: kind.ink, bold: kind.bold }));
  if (data.target_ns > 0) times.push({ name: 'target', ns: data.target_ns, ink: look.target, bold: true });
  return times;
};

// The numbers of a single level, large.
plumb.sweepNumbers = (data, look, sheet) => {
  const [level] = data.levels;
  const top = plumb.singleTop(sheet.headLines, sheet.moreTitle);
  const marks = [
    { shape: plumb.text(sheet.left, top + 6, `${plumb.count(level.iops)} IOPS`, look.font(30, true), look.ink) },
    { shape: plumb.text(sheet.left, top + 42, plumb.rate(level.rate), look.font(18), look.ink) },
  ];
  plumb.singleTimes(data, look).forEach((time, place) => {
    const y = top + 90 + place * 24;
    marks.push({ shape: plumb.text(sheet.left, y, time.name, look.font(13), look.soft) });
    marks.push({ shape: plumb.text(sheet.left + 170, y, plumb.time(time.ns), look.font(15, time.bold), time.ink, 'right') });
  });
  if (level.rounds) {
    const text = `${level.rounds.count} rounds: ${plumb.count(level.rounds.low_iops)} to ${plumb.count(level.rounds.high_iops)} IOPS`;
    marks.push({ shape: plumb.text(sheet.left, top + 64, text, look.font(11), look.alarm) });
  }
  return marks;
};

// The histogram of a single level: a row for each range of latencies, the fastest first, as long as its share of the I/Os.
plumb.sweepDistribution = (data, look, sheet) => {
  const [level] = data.levels;
  const below = look.narrow ? 100 + 24 * plumb.singleTimes(data, look).length : 0;
  const top = plumb.singleTop(sheet.headLines, sheet.moreTitle) + below;
  const from = look.narrow ? 132 : sheet.left + 370;
  const room = look.width - (look.narrow ? 62 : 90) - from;
  if (level.bins.length === 0) return [{ shape: plumb.text(from, top + 6, 'no histogram', look.font(12), look.faint) }];
  const rows = Math.min(plumb.singleRow, (look.height - top - 40 - 14 * sheet.noteLines.length) / level.bins.length);
  return level.bins.flatMap((bin, place) => {
    const y = top + place * rows;
    const range = bin.from_ns > 0 ? `${plumb.tick(bin.from_ns)} to ${plumb.tick(bin.to_ns)}` : `up to ${plumb.tick(bin.to_ns)}`;
    const says = `${plumb.percent(bin.share)} of I/Os\n${range}`;
    const wide = Math.max(bin.share * room, 0.6);
    return [
      { shape: plumb.text(from - 10, y, range, look.font(11.5), look.ink, 'right') },
      { shape: { ...plumb.rect(from, y - rows * 0.4, wide, rows * 0.8, plumb.colourOf(bin.to_ns, look), plumb.filled(plumb.colourOf(bin.to_ns, look), look)), name: 'bin' }, says },
      { shape: plumb.text(from + wide + 6, y, plumb.percent(bin.share), look.font(11.5, true), look.ink) },
    ];
  });
};

// Where everything stands.
plumb.sweepSheet = (data, look) => {
  const levels = data.levels;
  // A narrow picture has no key at its right: the colours stand on the axis of latencies.
  const [left, right] = look.narrow ? [levels.length === 1 ? 12 : 54, look.width - 10] : [90, look.width - 130];
  const lead = look.narrow ? 50 : 62;
  const room = right - left - lead - (look.narrow ? 0 : 20);
  // A few levels stand over the whole frame: the last needs room for its bars and the names of the lines alone.
  const spacing = Math.max(room / Math.max(levels.length, 1), levels.length > 1 ? (room - 190) / (levels.length - 1) : 0);
  const column = levels.map((_, index) => left + lead + index * spacing);
  const margin = look.narrow ? 10 : left;
  const noteLines = data.notes.flatMap((note) => plumb.wrap(note, look.width - margin - (look.narrow ? 10 : 40), look.font(10))).slice(0, look.narrow ? 24 : 10);
  const below = 30 + 14 * noteLines.length;
  const headLines = plumb.sweepHeadLines(data, look, margin);
  const moreTitle = plumb.title(data.title, margin, look.width - margin - 20, look).more;
  // Above the panels: title, sentences, flag, level names and the strip; between them, room for words.
  const shift = moreTitle + Math.max(headLines.length - (look.narrow ? 2 : 4), 0) * 20;
  const top = 228 + shift;
  const height = look.height - top - below - 85;
  // A picture on paper is low: its throughput needs room for bars below their words.
  const [first, second] = look.onPaper ? [0.46, 0.17] : [0.54, 0.21];
  const log = { top, bottom: top + height * first };
  const linear = { top: log.bottom + 38, bottom: log.bottom + 38 + height * second };
  const rate = { top: linear.bottom + (look.narrow ? 62 : 47), bottom: look.height - below - 22 };
  const narrow = spacing < 95;
  return { left, right, margin, moreTitle, spacing, column, log, linear, rate, noteLines, headLines, shift, width: Math.min(spacing * 0.84, 130), small: narrow ? 9 : 10.5, narrow };
};

// The flag and the sentences, broken into lines.
plumb.sweepHeadLines = (data, look, left) => {
  const room = look.width - left - 20;
  const lines = [...(data.flag ? [[`⚠ ${data.flag}`, look.alarm, true]] : []), ...data.sentences.map((text) => [text, look.ink, false])];
  return lines.flatMap(([text, fill, bold]) => plumb.wrap(text, room, look.font(13, bold)).map((line) => [line, fill, bold])).slice(0, look.narrow ? 14 : 8);
};

// Values without an order, such as engines, have nothing between them that a line could show.
plumb.sweepIsOfWords = (data) => data.levels.some((level) => level.word);

// The level with the most throughput, if it is beyond the noise of the rounds of all; -1 if one round each cannot tell.
plumb.sweepPeak = (levels) => {
  const ends = levels.map((level) => (level.rounds && level.iops > 0 ? [level.rounds.low_iops, level.rounds.high_iops].map((iops) => (iops * level.rate) / level.iops) : undefined));
  return ends.findIndex((one, index) => one && ends.every((other, place) => place === index || (other && other[1] < one[0])));
};

// A level's name as long as there is room for it; its bare number where not.
plumb.sweepName = (level, room, font) => plumb.longest([level.label, level.word || plumb.count(level.load)], room, font);

// The name of a panel: turned at its left, or above it where a picture is narrow.
plumb.sweepPanelName = (text, look, x, middle, top) => (look.narrow
  ? { shape: plumb.text(12, top - 12, text.replaceAll('\n', ' ').replace(', colour = latency', ''), look.font(10), look.soft) }
  : { shape: { ...plumb.text(0, 0, look.onPaper ? text.replace(/\s*\n.*/, '').replace(' in MiB/s, IOPS above', '\n(MiB/s)').replace(' in MiB/s', '\n(MiB/s)').replace('average ', 'average\n') : text, look.font(text.includes('\n') ? 11 : 11.5), look.ink, 'center', { lineHeight: 14 }), x, y: middle, rotation: Math.PI / 2 } });

plumb.sweepHead = (data, look, sheet) => {
  const { marks, more } = plumb.title(data.title, sheet.margin, look.width - sheet.margin - 20, look);
  sheet.headLines.forEach(([line, fill, bold], index) => {
    marks.push({ shape: plumb.text(sheet.margin, 62 + more + index * 20, line, look.font(13, bold), fill) });
  });
  return marks;
};

// Shares of a level under 1 ms, up to 10 ms, and above.
plumb.sweepShares = (level) => {
  const shares = [0, 0, 0];
  for (const bin of level.bins) shares[bin.to_ns <= 1.0001e6 ? 0 : bin.to_ns <= 1.0001e7 ? 1 : 2] += bin.share;
  return shares;
};

plumb.sweepStrip = (data, look, sheet) => {
  const kinds = [['under 1 ms', look.under, look.underInk], ['1–10 ms', look.between, look.betweenInk], ['over 10 ms', look.over, look.overInk]];
  const marks = look.narrow ? [] : [{ shape: plumb.text(sheet.left - 12, 172 + sheet.shift, 'share of\nI/Os', look.font(10), look.soft, 'left', { lineHeight: 12 }) }];
  kinds.forEach(([name, fill, ink], index) => {
    const [x, y] = look.narrow ? [12 + index * 92, 126 + sheet.shift] : [sheet.right + 8, 160 + sheet.shift + index * 13];
    marks.push({ shape: plumb.rect(x, y - 4, 6, 8, fill, { stroke: ink, lineWidth: 1 }) });
    marks.push({ shape: plumb.text(x + 10, y, name, look.font(10), ink) });
  });
  const written = plumb.written();
  data.levels.forEach((level, index) => {
    const x = sheet.column[index] - 2;
    const width = sheet.width;
    const head = look.font(sheet.narrow ? 10 : 12.5, true);
    marks.push({ shape: plumb.text(x, 147 + sheet.shift, plumb.sweepName(level, sheet.spacing - 5, head), head, look.ink) });
    const shares = plumb.sweepShares(level);
    const all = shares.reduce((sum, share) => sum + share, 0);
    const says = `${level.label}\n${kinds.map(([name], kind) => `${name}: ${plumb.percent(shares[kind])}`).join('\n')}`;
    let from = x;
    shares.forEach((share, kind) => {
      const part = all > 0 ? (share / all) * width : 0;
      if (part <= 0) return;
      marks.push({ shape: plumb.rect(from, 160 + sheet.shift, part, 20, kinds[kind][1], { stroke: kinds[kind][2], lineWidth: 0.8 }), says });
      const text = plumb.percent(share);
      const font = look.font(sheet.small, true);
      if (plumb.wide(text, font) + 6 <= part) {
        marks.push({ shape: { ...plumb.text(from + part / 2, 170.5 + sheet.shift, text, font, kinds[kind][2], 'center'), silent: true } });
      } else {
        // What does not fit into its part stands under it.
        const small = look.font(sheet.small - 1.5, true);
        const under = (at, align) => ({ shape: { ...plumb.text(at, 187 + sheet.shift, text, small, kinds[kind][2], align), silent: true } });
        marks.push(...written.offer(under(from, 'left'), under(from + part, 'right'), under(from + part + 16, 'left')).filter((mark) => plumb.boxOf(mark).right < x + sheet.spacing - 4));
      }
      from += part;
    });
    if (all <= 0) marks.push({ shape: plumb.text(x, 170 + sheet.shift, plumb.fit('no histogram', sheet.spacing - 4, look.font(sheet.small)), look.font(sheet.small), look.faint) });
  });
  return marks;
};

// The latency axis: from below everything to above everything, never clipped.
plumb.sweepScale = (data, look, sheet) => {
  const values = [data.target_ns];
  for (const level of data.levels) {
    values.push(...plumb.sweepKinds(look).map((kind) => level[kind.key]));
    for (const bin of level.bins) if (bin.share > 0) values.push(bin.to_ns, bin.from_ns);
  }
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const { top, bottom } = sheet.log;
  const high = Math.max(...known, 1) * (look.scale === 'linear' ? 1.12 : 2);
  const ticks = [];
  if (look.scale === 'linear') {
    const at = (ns) => bottom - (Math.min(Math.max(ns, 0), high) / high) * (bottom - top);
    const step = plumb.step(high, 6);
    for (let tick = 0; tick <= high; tick += step) ticks.push(tick);
    return { low: 0, high, at, ticks };
  }
  const low = Math.min(...known, high / 20) / 2.5;
  const at = (ns) => bottom - (Math.log(Math.min(Math.max(ns, low), high) / low) / Math.log(high / low)) * (bottom - top);
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) ticks.push(10 ** power);
  return { low, high, at, ticks };
};

plumb.sweepLatency = (data, look, sheet) => {
  const scale = plumb.sweepScale(data, look, sheet);
  const written = plumb.written();
  const marks = [];
  const target = data.target_ns > 0 ? scale.at(data.target_ns) : null;
  for (const tick of scale.ticks) {
    const y = scale.at(tick);
    marks.push({ shape: plumb.line([[sheet.left, y], [sheet.right, y]], look.line, 1) });
    // The target's own value stands on the axis, too.
    if (target === null || Math.abs(y - target) > 11) marks.push({ shape: plumb.text(sheet.left - 7, y, plumb.tick(tick), look.font(11.5), look.ink, 'right') });
  }
  marks.push({ shape: plumb.line([[sheet.left, sheet.log.top], [sheet.left, sheet.log.bottom]], look.axis, 1) });
  const middle = (sheet.log.top + sheet.log.bottom) / 2;
  marks.push(plumb.sweepPanelName(look.scale === 'linear' ? 'latency (linear, from 0)' : 'latency (log scale)', look, 20, middle, sheet.log.top));
  // What must be read takes its place first; a share is written only where nothing else is.
  const points = plumb.sweepPoints(data, look, sheet, scale).filter((mark) => {
    if (look.narrow && mark.shape.type === 'text') return written.offer(mark).length > 0;
    written.take([mark]);
    return true;
  });
  const key = look.narrow ? [] : written.take(plumb.sweepKey(data, look, sheet, scale));
  const bars = plumb.sweepBars(data, look, sheet, scale);
  marks.push(...plumb.sweepLines(data, look, sheet, scale), ...bars);
  if (target !== null) {
    marks.push({ shape: plumb.line([[sheet.left, target], [sheet.right, target]], look.target, 1.2, [9, 4]) });
    marks.push({ shape: plumb.text(sheet.left - 7, target, plumb.tick(data.target_ns), look.font(11.5, true), look.target, 'right') });
  }
  marks.push(...points, ...key, ...plumb.sweepBarWords(data, look, sheet, scale).flatMap((candidates) => written.offer(...candidates)));
  return marks;
};

// The lines of the latency panel: key, name, stroke, width, dash, whether its points are labelled.
plumb.sweepKinds = (look) => [
  { key: 'max_ns', name: 'max', stroke: look.max, width: 1.5, dash: [3, 3], labelled: true, ink: look.alarm },
  { key: 'p9999_ns', name: 'p99.99', stroke: look.faint, width: 1.2, dash: [2, 2.5], labelled: false, ink: look.faint },
  { key: 'p99_ns', name: 'p99', stroke: look.soft, width: 1.5, dash: [9, 4], labelled: true, ink: look.soft },
  { key: 'p95_ns', name: 'p95', stroke: look.soft, width: 1.5, dash: [14, 4], labelled: true, ink: look.soft },
  { key: 'average_ns', name: 'avg', stroke: look.average, width: 2.2, dash: null, labelled: true, ink: look.average, bold: true },
].filter((kind) => plumb.shows(look, kind.name));

// Each line breaks where a level does not know its value.
plumb.sweepLines = (data, look, sheet, scale) => {
  const marks = [];
  const known = (key) => data.levels.map((level, index) => [index, level[key]]).filter(([, value]) => value > 0);
  const point = ([index, value]) => [sheet.column[index], scale.at(value)];
  const both = data.levels.map((level, index) => index).filter((index) => data.levels[index].p95_ns > 0 && data.levels[index].p99_ns > 0);
  if (both.length > 1 && !plumb.sweepIsOfWords(data) && plumb.shows(look, 'p95') && plumb.shows(look, 'p99')) {
    const up = both.map((index) => point([index, data.levels[index].p99_ns]));
    const down = both.map((index) => point([index, data.levels[index].p95_ns])).reverse();
    marks.push({ shape: { type: 'polygon', shape: { points: [...up, ...down] }, style: { fill: look.wedge } } });
  }
  for (const kind of plumb.sweepKinds(look)) {
    const points = known(kind.key).map(point);
    if (points.length > 1 && !plumb.sweepIsOfWords(data)) marks.push({ shape: plumb.line(points, kind.stroke, kind.width, kind.dash) });
  }
  return marks;
};

// The histogram of each level: rows at their true edges, as wide as their share of the I/Os.
plumb.sweepBars = (data, look, sheet, scale) => {
  const marks = [];
  data.levels.forEach((level, index) => {
    const x = sheet.column[index];
    marks.push({ shape: plumb.line([[x, sheet.log.top + 20], [x, sheet.log.bottom]], look.axis, 1) });
    for (const bin of level.bins) {
      if (!(bin.share > 0)) continue;
      const bottom = bin.from_ns > 0 ? scale.at(bin.from_ns) : sheet.log.bottom;
      const top = scale.at(bin.to_ns);
      const width = Math.max(bin.share * sheet.width, 0.6);
      const fill = plumb.colourOf(bin.to_ns, look);
      const edges = bin.from_ns > 0 ? `${plumb.tick(bin.from_ns)} to ${plumb.tick(bin.to_ns)}` : `up to ${plumb.tick(bin.to_ns)}`;
      const says = `${level.label}\n${plumb.percent(bin.share)} of I/Os\n${edges}`;
      marks.push({ shape: { ...plumb.rect(x, top, width, bottom - top, fill, plumb.filled(fill, look)), name: 'bin' }, says });
    }
  });
  return marks;
};

// The shares, each where it may stand: inside its bar, right of it.
plumb.sweepBarWords = (data, look, sheet, scale) => data.levels.flatMap((level, index) => level.bins.flatMap((bin) => {
  const [bottom, top] = [bin.from_ns > 0 ? scale.at(bin.from_ns) : sheet.log.bottom, scale.at(bin.to_ns)];
  if (bin.share < 0.045 || bottom - top < 9) return [];
  const [x, y, width] = [sheet.column[index], (top + bottom) / 2, bin.share * sheet.width];
  const [font, text] = [look.font(sheet.small, true), plumb.percent(bin.share)];
  const inside = { shape: { ...plumb.text(x + width - 3, y, text, font, plumb.inkOn(plumb.colourOf(bin.to_ns, look)), 'right'), silent: true } };
  const outside = { shape: { ...plumb.text(x + width + 3, y, text, font, look.ink), silent: true } };
  const wide = plumb.wide(text, font);
  return [[...(wide + 6 <= width ? [inside] : []), ...(x + width + wide + 4 < x + sheet.spacing ? [outside] : [])]];
}));

// The value of every line at every level, pushed apart, left of the level's axis.
plumb.sweepPoints = (data, look, sheet, scale) => {
  const marks = [];
  const kinds = plumb.sweepKinds(look);
  data.levels.forEach((level, index) => {
    const x = sheet.column[index];
    const here = kinds.filter((kind) => level[kind.key] > 0);
    const labelled = here.filter((kind) => kind.labelled);
    const places = plumb.apart(labelled.map((kind) => scale.at(level[kind.key])), 15, sheet.log.top + 6, sheet.log.bottom - 7);
    const says = `${level.label}\n${here.map((kind) => `${kind.name}: ${plumb.time(level[kind.key])}`).join('\n')}`;
    for (const kind of here) {
      const y = scale.at(level[kind.key]);
      const dot = kind.bold
        ? { type: 'circle', shape: { cx: x, cy: y, r: 4 }, style: { fill: kind.stroke, stroke: look.paper, lineWidth: 1.2 } }
        : plumb.rect(x - 6, y - 1.5, 12, 3, kind.stroke);
      marks.push({ shape: dot, says });
    }
    labelled.forEach((kind, place) => {
      const font = look.font(kind.bold ? (sheet.narrow ? 9.5 : look.narrow ? 10.5 : 12.5) : sheet.small, kind.bold);
      const veil = { backgroundColor: look.veil, padding: [1, 2] };
      marks.push({ shape: plumb.text(x - 6, places[place], plumb.time(level[kind.key]), font, kind.ink, 'right', veil), says });
    });
  });
  return marks;
};

// The names of the lines at the right, and the colour ladder on the same scale as the axis.
plumb.sweepKey = (data, look, sheet, scale) => {
  const marks = [];
  const last = data.levels.length - 1;
  const kinds = last < 0 ? [] : plumb.sweepKinds(look).filter((kind) => data.levels[last][kind.key] > 0);
  const hasTarget = data.target_ns > 0;
  const wanted = [...kinds.map((kind) => scale.at(data.levels[last][kind.key])), ...(hasTarget ? [scale.at(data.target_ns)] : [])];
  const places = plumb.apart(wanted, 13, sheet.log.top + 6, sheet.log.bottom - 6);
  if (hasTarget) marks.push({ shape: plumb.text(sheet.right - 21, places[kinds.length], 'target', look.font(10), look.target, 'left', { backgroundColor: look.veil }) });
  kinds.forEach((kind, index) => {
    marks.push({ shape: plumb.line([[sheet.column[last] + 8, wanted[index]], [sheet.right - 24, places[index]]], look.axis, 0.6) });
    marks.push({ shape: plumb.text(sheet.right - 21, places[index], kind.name, look.font(10, kind.bold), kind.ink) });
  });
  const x = sheet.right + 22;
  marks.push({ shape: plumb.text(x, sheet.log.top - 9, 'colour key', look.font(10), look.soft) });
  let from = scale.low;
  const labels = [];
  for (const [edge] of plumb.ladder) {
    const colour = plumb.colourOf(edge, look);
    const to = Math.min(edge, scale.high);
    if (to <= from) continue;
    const [top, bottom] = [scale.at(to), scale.at(from)];
    marks.push({ shape: plumb.rect(x, top, 7, bottom - top, colour, plumb.filled(colour, look, { stroke: look.paper, lineWidth: 0.7 })) });
    if (edge < scale.high) labels.push({ at: top, text: plumb.tick(edge) });
    from = to;
    if (edge >= scale.high) break;
  }
  for (const label of plumb.sparse(labels, 11)) marks.push({ shape: plumb.text(x + 10, label.at, label.text, look.font(10), look.soft) });
  return marks;
};

// What more load brought, from one level to the next: its bar, and the words under it.
plumb.sweepStep = (data, look, sheet, one, full, share) => {
  const [from, to, bottom] = [sheet.column[one.index], sheet.column[one.index + 1], sheet.linear.bottom];
  const [centre, room] = [(from + to) / 2, to - from - 6];
  const [head, foot] = [look.font(sheet.narrow ? 9 : 11, true), look.font(sheet.narrow ? 8.5 : 10)];
  const under = (y, texts, font, ink) => ({ shape: plumb.text(centre, y, plumb.longest(texts, room, font), font, ink, 'center') });
  // From one word to the next there is no ratio.
  if (data.levels[one.index].word) return [];
  if (one.missing) return [under(bottom + 12, ['not judged', '?'], head, look.faint)];
  const names = [data.levels[one.index], data.levels[one.index + 1]].map((level) => level.label);
  const [load, rate] = [plumb.times(one.load_ratio), plumb.times(one.rate_ratio)];
  const ratios = under(bottom + 30, [`${data.load} ${load} → MiB/s ${rate}`, `${load} → MiB/s ${rate}`, `${load} → ${rate}`, rate], foot, look.soft);
  if (typeof one.queueing !== 'number') return [ratios];
  const faster = one.queueing < -0.0005;
  const falling = one.rate_ratio < 0.995;
  const words = faster ? ['faster'] : [`${plumb.percent(one.queueing)} queueing`, plumb.percent(one.queueing)];
  const says = `${names.join(' → ')}\n${words[0]}\nload ${load}, throughput ${rate}`;
  const y = faster ? bottom - 6 : share(one.queueing);
  const fill = falling ? look.falling : faster ? look.faster : look.slower;
  const ink = falling ? look.alarm : faster ? look.underInk : one.queueing < 0.05 ? look.soft : look.alarm;
  const marks = [{ shape: { ...plumb.rect(from + 0.5, y, to - from - 1, bottom - y, fill, { stroke: falling || !faster ? look.alarm : look.underInk, lineWidth: 0.7 }), name: 'queueing' }, says }];
  // A bar that is higher than the panel says so.
  if (one.queueing > full) marks.push({ shape: plumb.text(centre, y + 8, '▲', look.font(10, true), look.alarm, 'center') });
  ratios.shape.style.fill = ink;
  return [...marks, under(bottom + 12, words, head, ink), ratios];
};

plumb.sweepQueueing = (data, look, sheet) => {
  const { top, bottom } = sheet.linear;
  const most = Math.max(...data.levels.map((level) => level.average_ns), 1) * 1.25;
  const at = (ns) => bottom - (ns / most) * (bottom - top);
  const marks = [];
  const step = plumb.step(most, 4);
  for (let tick = 0; tick <= most; tick += step) {
    marks.push({ shape: plumb.line([[sheet.left, at(tick)], [sheet.right, at(tick)]], tick === 0 ? look.axis : look.line, 1) });
    marks.push({ shape: plumb.text(sheet.left - 7, at(tick), plumb.tick(tick), look.font(11), look.ink, 'right') });
  }
  const steps = data.levels.slice(0, -1).map((level, index) => ({ ...level.step, index, missing: !level.step }));
  const judged = steps.filter((one) => typeof one.queueing === 'number');
  // The bars have a scale of their own at the right, of 150 % at least and 400 % at most.
  const full = Math.min(Math.max(1.5, ...judged.map((one) => one.queueing * 1.1)), 4);
  const share = (queueing) => bottom - (Math.min(Math.max(queueing, 0), full) / full) * (bottom - top);
  const written = plumb.written();
  for (const one of steps) marks.push(...(look.narrow ? written.take(plumb.sweepStep(data, look, sheet, one, full, share)) : plumb.sweepStep(data, look, sheet, one, full, share)));
  const points = data.levels.map((level, index) => [sheet.column[index], at(level.average_ns)]);
  const values = data.levels.map((level, index) => ({
    shape: plumb.text(points[index][0] - 5, points[index][1] - 12, plumb.time(level.average_ns), look.font(sheet.narrow ? 9.5 : look.narrow ? 10 : 11.5, true), look.ink, 'right', { backgroundColor: look.veil, padding: [1, 2] }),
    says: `${level.label}\navg: ${plumb.time(level.average_ns)}`,
  }));
  const kept = values.filter((mark) => !look.narrow || written.offer(mark).length > 0);
  if (!look.narrow) written.take(values);
  if (judged.length > 0) {
    const y = share(1);
    marks.push({ shape: plumb.line([[sheet.left, y], [sheet.right, y]], look.alarm, 1, [4, 3]) });
    for (let tick = 0; !look.narrow && tick <= full * 1.001; tick += full > 2 ? 1 : 0.5) {
      marks.push({ shape: plumb.text(sheet.right + 6, share(tick), plumb.percent(tick), look.font(10), look.soft) });
    }
    const words = ['saturated: what is added only waits', 'saturated'];
    const places = words.flatMap((text) => [sheet.left + 4, ...sheet.column.slice(1).map((x) => x + 6)].flatMap((x) => [y - 8, y + 8].map((at) => (
      { shape: plumb.text(x, at, text, look.font(10), look.alarm, 'left', { backgroundColor: look.veil }) }))));
    const inside = places.filter((mark) => plumb.boxOf(mark).right < sheet.right);
    marks.push(...written.offer(...inside));
    const side = 'share of the added\nload that only queued';
    if (!look.narrow) marks.push({ shape: { ...plumb.text(0, 0, side, look.font(10), look.soft, 'center', { lineHeight: 13 }), x: sheet.right + 58, y: (top + bottom) / 2, rotation: Math.PI / 2 } });
  }
  marks.push({ shape: plumb.line([[sheet.left, top], [sheet.left, bottom]], look.axis, 1), }, { shape: plumb.line([[sheet.right, top], [sheet.right, bottom]], look.axis, 1) });
  if (points.length > 1 && !plumb.sweepIsOfWords(data)) marks.push({ shape: plumb.line(points, look.average, 2.2) });
  data.levels.forEach((level, index) => {
    const [x, y] = points[index];
    const { says } = values[index];
    marks.push({ shape: { type: 'circle', shape: { cx: x, cy: y, r: 4 }, style: { fill: look.average, stroke: look.paper, lineWidth: 1.2 } }, says });
    if (kept.includes(values[index])) marks.push(values[index]);
  });
  marks.push(plumb.sweepPanelName('average latency\n(linear, from 0)', look, 18, (top + bottom) / 2, top));
  return marks;
};

// The interval of the mean over the rounds of a level.
plumb.sweepRounds = (level, look, x, at) => {
  const { count, low_iops: low, high_iops: high } = level.rounds;
  const says = `${level.label}\n${count} rounds: mean IOPS between ${plumb.count(low)} and ${plumb.count(high)} (95 %)`;
  return { shape: plumb.line([[x - 4, at(low)], [x + 4, at(low)], [x, at(low)], [x, at(high)], [x - 4, at(high)], [x + 4, at(high)]], look.alarm, 1.6), says };
};

plumb.sweepThroughput = (data, look, sheet) => {
  const { top, bottom } = sheet.rate;
  const mib = (rate) => rate / 1048576;
  const highest = Math.max(...data.levels.map((level) => mib(level.rate)), 1e-9);
  // Room for the words over the highest bar.
  const words = data.levels.some((level) => level.at_work) ? 50 : 36;
  const most = (highest * (bottom - top)) / Math.max(bottom - top - words, (bottom - top) * 0.4);
  const at = (value) => bottom - (value / most) * (bottom - top);
  const marks = [];
  const step = plumb.step(most, 4);
  for (let tick = 0; tick <= most * 0.999; tick += step) {
    marks.push({ shape: plumb.line([[sheet.left, at(tick)], [sheet.right, at(tick)]], tick === 0 ? look.axis : look.line, 1) });
    marks.push({ shape: plumb.text(sheet.left - 7, at(tick), plumb.number(tick), look.font(11), look.ink, 'right') });
  }
  const peak = plumb.sweepPeak(data.levels);
  data.levels.forEach((level, index) => {
    const wide = Math.min(sheet.spacing * 0.78, 115);
    const x = sheet.column[index] + sheet.width / 2 - wide / 2 - 3 - Math.min(sheet.spacing * 0.19, 28);
    const all = level.bins.reduce((sum, bin) => sum + bin.share, 0);
    const parts = all > 0 ? level.bins : [{ from_ns: 0, to_ns: level.average_ns, share: 1 }];
    let from = 0;
    for (const bin of parts) {
      if (!(bin.share > 0)) continue;
      const part = (mib(level.rate) * bin.share) / (all > 0 ? all : 1);
      const says = `${level.label}\n${plumb.rate(part * 1048576)} of I/Os up to ${plumb.tick(bin.to_ns)}\n${plumb.rate(level.rate)}, ${plumb.count(level.iops)} IOPS in all`;
      const slice = plumb.rect(x, at(from + part), wide, at(from) - at(from + part), plumb.colourOf(bin.to_ns, look), plumb.filled(plumb.colourOf(bin.to_ns, look), look, { stroke: look.paper, lineWidth: 0.6 }));
      marks.push({ shape: { ...slice, name: 'slice' }, says });
      from += part;
    }
    const y = at(mib(level.rate));
    const centre = x + wide / 2;
    if (level.rounds && level.iops > 0) marks.push(plumb.sweepRounds(level, look, x + wide - 7, (iops) => at(Math.min((mib(level.rate) * iops) / level.iops, most))));
    const star = index === peak ? '★' : '';
    const [bold, small, room] = [look.font(sheet.narrow ? 9.5 : 11.5, true), look.font(sheet.narrow ? 9 : 10), sheet.spacing - 6];
    const rate = plumb.rate(level.rate);
    const iops = plumb.count(level.iops);
    marks.push({ shape: plumb.text(centre, y - 9, plumb.longest([rate, plumb.mebibytes(level.rate)], room, bold), bold, look.ink, 'center') });
    const counts = star ? [`${iops} IOPS  ★ peak`, `${iops} IOPS ★`, `${iops} ★`] : [`${iops} IOPS`, iops];
    marks.push({ shape: plumb.text(centre, y - 23, plumb.longest(sheet.narrow ? counts.slice(-1) : counts, room, small), small, look.soft, 'center') });
    if (level.at_work) {
      const { busy, asked } = level.at_work;
      const [some, all] = [busy, asked].map(plumb.number);
      const words = [`⚠ ${some} of ${all} busy`, `⚠ ${some}/${all}`, '⚠'];
      const font = look.font(sheet.narrow ? 8.5 : 10, true);
      marks.push({ shape: plumb.text(centre, y - 37, plumb.longest(words, room, font), font, look.alarm, 'center'), says: `${level.label}\n${words[0]}` });
    }
    marks.push({ shape: plumb.text(centre, bottom + 14, plumb.sweepName(level, sheet.spacing - 5, look.font(sheet.narrow ? 10 : 12)), look.font(sheet.narrow ? 10 : 12), look.ink, 'center') });
  });
  marks.push({ shape: plumb.line([[sheet.left, top], [sheet.left, bottom]], look.axis, 1) });
  const sides = sheet.narrow ? 'throughput in MiB/s, IOPS above\n(linear, colour = latency)' : 'throughput in MiB/s\n(linear, colour = latency)';
  marks.push(plumb.sweepPanelName(sides, look, 22, (top + bottom) / 2, top));
  return marks;
};

plumb.sweepNotes = (data, look, sheet) => sheet.noteLines.map((line, index) => ({
  shape: plumb.text(sheet.margin, look.height - 14 * (sheet.noteLines.length - index), line, look.font(10), look.soft),
}));
