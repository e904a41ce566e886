// What latency a rate costs: a curve per system, its average solid and its p99 dashed, the knee marked.
'use strict';

plumb.heights.curve = (data, look) => plumb.heightOf(data, look, data.systems.map((system) => system.name), 360);

plumb.charts.curve = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const names = data.systems.map((system) => system.name);
  const target = plumb.target(data, look);
  const kinds = [['average_ns', 'avg', 'solid', 2.2], ['p99_ns', 'p99', [7, 4], 1.3]].filter(([, name]) => plumb.shows(look, name));
  const values = data.systems.flatMap((system) => system.points.flatMap((point) => kinds.map(([key]) => point[key])));
  // A level's name stands left of its point or below it; where an axis is too near, beginning there or above.
  const most = Math.max(...data.systems.flatMap((system) => system.points.map((point) => point.iops)), 1) * 1.25;
  const placeOf = (system, place, text, font) => {
    const x = (system.points[place].iops / most) * (look.width - left - 60);
    const wide = plumb.wide(text, font);
    // Beyond the knee the curve may rise steeply: what comes from the left leaves no room below, but left of the point.
    const come = place > 0 ? x - (system.points[place - 1].iops / most) * (look.width - left - 60) : x;
    const beyond = system.knee !== null && place > system.knee && come < wide;
    if (beyond) return { position: x <= wide + 16 ? 'right' : 'left' };
    return { position: isLow(system.points[place]) ? 'top' : 'bottom', align: x <= wide / 2 + 6 ? 'left' : 'center' };
  };
  const high = look.height - frame.top - frame.below - 80;
  const isLow = (point) => {
    const share = look.scale === 'linear'
      ? point.average_ns / Math.max(...values)
      : Math.log10(point.average_ns / latencies.min) / Math.log10(latencies.max / latencies.min);
    return share * high < 30;
  };
  const latencies = plumb.latencyAxis(look, look.scale === 'linear' ? 'latency' : 'latency (log scale)', [...values, target]);
  // The target's own words stand at the left end of its line.
  const meetsTarget = (point) => {
    if (!(target > 0)) return false;
    const decades = Math.abs(Math.log10(point.average_ns / target)) / Math.log10(latencies.max / latencies.min);
    return look.scale !== 'linear' && decades * high < 24 && (point.iops / most) * (look.width - left - 60) < 220;
  };
  const series = data.systems.flatMap((system, index) => kinds.map(([key, kind, type, width]) => ({
    type: 'line', name: system.name, symbol: 'circle', symbolSize: 6, animation: false,
    lineStyle: { width, type, color: plumb.systemColour(index) }, itemStyle: { color: plumb.systemColour(index) },
    labelLayout: { hideOverlap: true },
    endLabel: { show: true, formatter: kind, color: look.soft, fontFamily: plumb.family, fontSize: 10.5, distance: 6 },
    data: system.points.map((point, place) => {
      const isKnee = key === 'average_ns' && place === system.knee;
      const text = isKnee ? `knee: ${point.label}` : point.label;
      return {
        value: [point.iops, point[key] > 0 ? point[key] : null], point, kind, system: system.name,
        symbol: isKnee ? 'diamond' : 'circle', symbolSize: isKnee ? 15 : 6,
        label: {
          show: key === 'average_ns' && (isKnee || data.systems.length < 4) && !meetsTarget(point), distance: 7,
          ...placeOf(system, place, text, look.font(isKnee ? 11.5 : 10.5, isKnee)), fontFamily: plumb.family, fontSize: isKnee ? 11.5 : 10.5,
          fontWeight: isKnee ? 'bold' : 'normal', color: isKnee ? look.ink : look.soft, formatter: text,
        },
      };
    }),
    ...(index === 0 && kind === kinds[0][1] ? { markLine: plumb.targetLine(target, look) } : {}),
  })));
  return plumb.option(data, look, frame, {
    legend: plumb.legend(names, look, frame.top - 6, left),
    tooltip: {
      trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
      formatter: (item) => (item.data && item.data.point ? plumb.said([`${item.data.system}: ${item.data.point.label}`, `${item.data.kind} ${plumb.time(item.value[1])}`, `${plumb.count(item.data.point.iops)} IOPS, ${plumb.rate(item.data.point.rate)}`]) : ''),
    },
    grid: { left, right: 60, top: frame.top + plumb.legendHeight(names, look, left) + (look.narrow ? 22 : 10), bottom: frame.below + 56 },
    xAxis: plumb.axis(look, 'I/Os per second', plumb.count, { min: 0, nameGap: 32 }),
    yAxis: latencies,
    series,
  });
};
