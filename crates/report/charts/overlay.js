// Several sweeps over each other: latency (log), average latency (linear from 0), throughput; the legend switches systems. Systems
// of one level each have a bar each.
'use strict';

plumb.isOfBars = (data) => data.systems.length > 0 && data.systems.every(([, sweep]) => sweep.levels.length === 1);

plumb.heights.overlay = (data, look) => {
  if (!plumb.isOfBars(data)) return plumb.heightOf(data, look, data.systems.map(([name]) => name), look.onPaper ? 560 : 760);
  const sheet = plumb.barsSheet(data, { ...look, height: 0 });
  return sheet.bottom + 34 + sheet.frame.below;
};

// Most systems with all of their percentiles.
plumb.mostInFull = 4;

// A system has its colour in all pictures of a page.
plumb.overlayColour = (data, index) => plumb.systemColour(((data.colours || [])[index]) ?? index);

// Where the bars stand: names, throughput and latency next to each other; below each other where a picture is narrow.
plumb.barsSheet = (data, look) => {
  const left = look.narrow ? 12 : plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const right = look.width - (look.narrow ? 12 : 40);
  const top = frame.top + (look.narrow ? 4 : 26);
  const row = look.narrow ? 110 : 56;
  const rates = look.narrow ? [left, right - 8] : [left + 190, left + 190 + (right - left - 190) * 0.42];
  const times = look.narrow ? [left, right - 8] : [rates[1] + 56, right];
  return { left, frame, top, row, rates, times, bottom: top + row * data.systems.length };
};

plumb.overlayBars = (data, look) => {
  const sheet = plumb.barsSheet(data, look);
  const { left, frame, top, row, rates, times, bottom } = sheet;
  const levels = data.systems.map(([, sweep]) => sweep.levels[0]);
  const most = Math.max(...levels.flatMap((level) => [level.iops, level.rounds ? level.rounds.high_iops : 0]), 1e-9);
  // Room for the words behind the longest bar.
  const long = (iops) => (Math.min(iops / most, 1) * (rates[1] - rates[0] - (look.narrow ? 150 : 128)));
  const target = plumb.target(data, look);
  const kinds = plumb.sweepKinds(look);
  const known = [...levels.flatMap((level) => kinds.map((kind) => level[kind.key])), target].filter((ns) => ns > 0);
  const isLinear = look.scale === 'linear';
  const [low, high] = [isLinear ? 0 : Math.min(...known, 1e12) / 2, Math.max(...known, 1e3) * (isLinear ? 1.1 : 2)];
  const at = (ns) => times[0] + (isLinear ? ns / high : Math.log(ns / low) / Math.log(high / low)) * (times[1] - times[0]);
  const ticks = [];
  if (isLinear) for (let tick = 0; tick <= high; tick += plumb.step(high, 4)) ticks.push(tick);
  else for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) ticks.push(10 ** power);
  const axes = [...frame.marks];
  if (!look.narrow) {
    axes.push({ shape: plumb.text(rates[0], top - 14, 'IOPS (from 0) and throughput', look.font(11), look.soft) });
    axes.push({ shape: plumb.text(times[0], top - 14, isLinear ? 'latency (linear, from 0)' : 'latency (log scale)', look.font(11), look.soft) });
    axes.push({ shape: plumb.line([[rates[0], top], [rates[0], bottom]], look.axis, 1) });
  }
  const words = plumb.written();
  for (const tick of ticks) {
    axes.push({ shape: plumb.line([[at(tick), top], [at(tick), bottom]], look.line, 1) });
    axes.push(...words.offer({ shape: plumb.text(at(tick), bottom + 14, plumb.tick(tick), look.font(10.5), look.ink, 'center') }).filter((mark) => plumb.boxOf(mark).right < look.width && plumb.boxOf(mark).left > 0));
  }
  if (target > 0) {
    axes.push({ shape: plumb.line([[at(target), top - 4], [at(target), bottom]], look.target, 1.2, [9, 4]) });
    axes.push({ shape: plumb.text(Math.max(Math.min(at(target), times[1] - 34), times[0] + 34), bottom + 28, `target ${plumb.tick(target)}`, look.font(10), look.target, 'center') });
  }
  const series = data.systems.map(([name], index) => {
    const level = levels[index];
    const [y, colour] = [top + row * index, plumb.overlayColour(data, index)];
    const place = { name: look.narrow ? y + 14 : y + 13, bar: look.narrow ? y + 36 : y + 28, times: look.narrow ? y + 76 : y + 32 };
    const room = look.narrow ? rates[1] - left - 90 : rates[0] - left - 14;
    // A name has two lines at most, and is whole where it is pointed at.
    const [first, ...more] = plumb.wrap(name, room, look.font(12, true));
    const rest = more.length > 0 && !look.narrow ? [plumb.fit(more.join(' '), room, look.font(12, true))] : [];
    const lines = look.narrow ? [plumb.fit(name, room, look.font(12, true))] : [first || name, ...rest];
    const says = [name, level.label, `${plumb.count(level.iops)} IOPS, ${plumb.rate(level.rate)}`, ...kinds.filter((kind) => level[kind.key] > 0).map((kind) => `${kind.name}: ${plumb.time(level[kind.key])}`)].join('\n');
    const marks = [
      ...lines.map((line, number) => ({ shape: plumb.text(left, place.name + number * 15, line, look.font(12, true), look.ink) })),
      look.narrow
        ? { shape: plumb.text(rates[1], place.name, level.label, look.font(10.5), look.soft, 'right') }
        : { shape: plumb.text(left, place.name + lines.length * 15 + 1, plumb.fit(level.label, room, look.font(10.5)), look.font(10.5), look.soft) },
      { shape: { ...plumb.rect(rates[0], place.bar - 10, Math.max(long(level.iops), 1), 20, colour), name: 'bar' }, says },
    ];
    // The words stand behind the bar and behind its interval.
    const end = rates[0] + long(Math.max(level.iops, level.rounds ? level.rounds.high_iops : 0)) + 8;
    marks.push({ shape: plumb.text(end, place.bar - 6, `${plumb.count(level.iops)} IOPS`, look.font(11.5, true), look.ink) });
    marks.push({ shape: plumb.text(end, place.bar + 8, plumb.rate(level.rate), look.font(10.5), look.soft) });
    if (level.rounds) {
      const { count, low_iops: from, high_iops: to } = level.rounds;
      const [one, other, middle] = [rates[0] + long(from), rates[0] + long(to), place.bar];
      const interval = plumb.line([[one, middle - 6], [one, middle + 6], [one, middle], [other, middle], [other, middle - 6], [other, middle + 6]], look.alarm, 1.8);
      marks.push({ shape: { ...interval, name: 'interval' }, says: `${name}\n${count} rounds: mean IOPS between ${plumb.count(from)} and ${plumb.count(to)} (95 %)` });
    }
    marks.push(...plumb.overlayTimes(level, look, kinds, at, place.times, times, says));
    return { ...plumb.marks(marks, look), name };
  });
  return plumb.option(data, look, { marks: [] }, {
    legend: { show: false, data: data.systems.map(([name]) => name), formatter: (name) => name },
    series: [plumb.marks(axes, look), ...series],
  });
};

// The latencies of a bar's system on one line: average as a point, the others as strokes, each with its name and value as far as there is room.
plumb.overlayTimes = (level, look, kinds, at, y, [from, to], says) => {
  const here = kinds.filter((kind) => level[kind.key] > 0).reverse();
  const marks = here.length > 1 ? [{ shape: plumb.line([[at(level[here[0].key]), y], [at(level[here[here.length - 1].key]), y]], look.edge, 1) }] : [];
  const written = plumb.written();
  // The average first, and then what is rarest.
  const order = [...here.filter((kind) => kind.bold), ...here.filter((kind) => !kind.bold).reverse()];
  for (const kind of order) {
    const x = at(level[kind.key]);
    const dot = kind.bold ? { type: 'circle', shape: { cx: x, cy: y, r: 4.5 }, style: { fill: kind.stroke, stroke: look.paper, lineWidth: 1.2 } } : plumb.rect(x - 1.5, y - 7, 3, 14, kind.stroke);
    marks.push({ shape: dot, says });
    const text = `${kind.name} ${plumb.time(level[kind.key])}`;
    const wide = plumb.wide(text, look.font(10.5, kind.bold));
    const middle = Math.min(Math.max(x, from + wide / 2), to - wide / 2);
    const word = (up) => ({ shape: plumb.text(middle, y + up, text, look.font(10.5, kind.bold), kind.ink, 'center') });
    marks.push(...written.offer(word(-15), word(16)));
  }
  return marks;
};

plumb.charts.overlay = (data, look) => {
  if (plumb.isOfBars(data)) return plumb.overlayBars(data, look);
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const names = data.systems.map(([name]) => name);
  const colour = (index) => plumb.overlayColour(data, index);
  const levels = data.systems.flatMap(([, sweep]) => sweep.levels);
  const loads = plumb.unique(levels.map((level) => level.load)).sort((one, other) => one - other);
  const labels = loads.map((load) => levels.find((level) => level.load === load).label);
  const target = plumb.target(data, look);
  const kinds = [
    ['average_ns', 'avg', 'solid', 2.2], ['p95_ns', 'p95', [12, 4], 1.2], ['p99_ns', 'p99', [7, 4], 1.2], ['p9999_ns', 'p99.99', [2, 3], 1.1], ['max_ns', 'max', [2, 2], 1],
  ].filter(([, name]) => plumb.shows(look, name));
  // Of many systems one line each can be distinguished; the others are said where a point is pointed at.
  const drawn = names.length > plumb.mostInFull ? kinds.slice(0, 1) : kinds;
  const top = frame.top + plumb.legendHeight(names, look, left) + 12;
  const height = look.height - top - frame.below - 50;
  const panels = [{ top, height: height * 0.46 - 26 }, { top: top + height * 0.46, height: height * 0.25 - 26 }, { top: top + height * 0.71, height: height * 0.29 }];
  const values = levels.flatMap((level) => drawn.map(([key]) => level[key]));
  const latencies = plumb.latencyAxis(look, look.scale === 'linear' ? 'latency' : 'latency (log scale)', [...values, target], { gridIndex: 0 });
  // A line's name stands at its end where no other name does; the averages come first.
  const most = Math.max(...values.filter((value) => value > 0), target, 1);
  const at = (value) => panels[0].height * (look.scale === 'linear' ? value / most : Math.log(value / latencies.min) / Math.log(latencies.max / latencies.min));
  const ends = drawn.flatMap(([key, kind]) => data.systems.map(([, system], index) => {
    const last = loads.map((load) => system.levels.find((level) => level.load === load)).filter((level) => level && level[key] > 0).pop();
    return { kind, index, load: last && last.load, at: last && at(last[key]) };
  }));
  const named = [];
  for (const end of ends) if (end.load !== undefined && named.every((other) => other.load !== end.load || Math.abs(other.at - end.at) >= 14)) named.push(end);
  const isNamed = (index, kind) => named.some((end) => end.index === index && end.kind === kind);
  const line = (system, index, panel, kind, type, width, value) => ({
    type: 'line', name: names[index], xAxisIndex: panel, yAxisIndex: panel, animation: false, symbol: 'circle', symbolSize: kind === 'avg' || panel > 0 ? 6 : 3,
    connectNulls: true, lineStyle: { type, width, color: colour(index) }, itemStyle: { color: colour(index) },
    endLabel: { show: panel === 0 && isNamed(index, kind), formatter: kind, color: colour(index), fontFamily: plumb.family, fontSize: 10 },
    data: loads.map((load) => {
      const level = system.levels.find((one) => one.load === load);
      const found = level && value(level);
      return { value: found > 0 ? found : null, level, kind, system: names[index] };
    }),
  });
  const series = data.systems.flatMap(([, system], index) => [
    ...drawn.map(([key, kind, type, width]) => line(system, index, 0, kind, type, width, (level) => level[key])),
    line(system, index, 1, 'avg', 'solid', 2.2, (level) => level.average_ns),
    line(system, index, 2, 'throughput', 'solid', 2.2, (level) => level.rate),
  ]);
  if (series.length > 0) series[0].markLine = plumb.targetLine(target, look);
  return plumb.option(data, look, frame, {
    legend: plumb.legend(names, look, frame.top - 6, left),
    tooltip: {
      trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
      formatter: (item) => (item.data && item.data.level ? plumb.said([
        `${item.data.system}: ${item.data.level.label}`,
        ...kinds.filter(([key]) => item.data.level[key] > 0).map(([key, kind]) => `${kind} ${plumb.time(item.data.level[key])}`),
        `${plumb.rate(item.data.level.rate)}, ${plumb.count(item.data.level.iops)} IOPS`,
      ]) : ''),
    },
    grid: panels.map((panel) => ({ left, right: 70, ...panel })),
    xAxis: panels.map((_, index) => plumb.axis(look, index === 2 ? data.load : '', undefined, {
      type: 'category', gridIndex: index, data: labels, nameGap: 30, splitLine: { show: false },
      axisLabel: { show: index === 2, color: look.ink, fontFamily: plumb.family, fontSize: 11, hideOverlap: true },
    })),
    yAxis: [
      latencies,
      plumb.axis(look, 'average latency\n(linear, from 0)', plumb.tick, { gridIndex: 1, min: 0, splitNumber: 3, nameGap: 58 }),
      plumb.rateAxis(look, 'throughput\n(MiB/s)', levels.map((level) => level.rate), { gridIndex: 2, nameGap: 58 }),
    ],
    series,
  });
};
