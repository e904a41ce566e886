// Several sweeps over each other: latency (log), average latency (linear from 0), throughput; the legend switches systems.
'use strict';

plumb.heights.overlay = (data, look) => plumb.heightOf(data, look, data.systems.map(([name]) => name), look.onPaper ? 560 : 760);

plumb.charts.overlay = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const names = data.systems.map(([name]) => name);
  // A system has its colour in all pictures of a page.
  const colour = (index) => plumb.systemColour(((data.colours || [])[index]) ?? index);
  const levels = data.systems.flatMap(([, sweep]) => sweep.levels);
  const loads = plumb.unique(levels.map((level) => level.load)).sort((one, other) => one - other);
  const labels = loads.map((load) => levels.find((level) => level.load === load).label);
  const target = plumb.target(data, look);
  const kinds = [
    ['average_ns', 'avg', 'solid', 2.2], ['p95_ns', 'p95', [12, 4], 1.2], ['p99_ns', 'p99', [7, 4], 1.2], ['p9999_ns', 'p99.99', [2, 3], 1.1], ['max_ns', 'max', [2, 2], 1],
  ].filter(([, name]) => plumb.shows(look, name));
  const top = frame.top + plumb.legendHeight(names, look, left) + 12;
  const height = look.height - top - frame.below - 50;
  const panels = [{ top, height: height * 0.46 - 26 }, { top: top + height * 0.46, height: height * 0.25 - 26 }, { top: top + height * 0.71, height: height * 0.29 }];
  const values = levels.flatMap((level) => kinds.map(([key]) => level[key]));
  const latencies = plumb.latencyAxis(look, look.scale === 'linear' ? 'latency' : 'latency (log scale)', [...values, target], { gridIndex: 0 });
  // A line's name stands at its end where no other name does; the averages come first.
  const most = Math.max(...values.filter((value) => value > 0), target, 1);
  const at = (value) => panels[0].height * (look.scale === 'linear' ? value / most : Math.log(value / latencies.min) / Math.log(latencies.max / latencies.min));
  const ends = kinds.flatMap(([key, kind]) => data.systems.map(([, system], index) => {
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
    ...kinds.map(([key, kind, type, width]) => line(system, index, 0, kind, type, width, (level) => level[key])),
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
