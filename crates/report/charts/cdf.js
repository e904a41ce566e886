// The latency distribution: percentiles evenly by nines, so that the slowest few are as long as the many.
'use strict';

plumb.nines = (percent) => -Math.log10(1 - Math.min(percent, 99.9999999) / 100);

// A narrow picture is as high as its legend needs.
plumb.heights.cdf = (data, look) => plumb.heightOf(data, look, data.systems.map((system) => system.name), 340);

plumb.charts.cdf = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const names = data.systems.map((system) => system.name);
  const points = data.systems.flatMap((system) => system.points);
  const most = Math.max(1, Math.ceil(plumb.nines(Math.max(...points.map((point) => point[0]), 0)) - 0.001));
  const target = plumb.target(data, look);
  const ticks = [0, plumb.nines(50), 1, 2, 3, 4, 5, 6].filter((nines) => nines <= most);
  const percent = (nines) => `${+plumb.fixed(100 - 100 * 10 ** -nines, 6)} %`;
  // The values that people ask for stand at the curve, where there is only one.
  const asked = [50, 90, 99, 99.9, 99.99, 99.999];
  const series = data.systems.map((system, index) => ({
    type: 'line', name: system.name, symbol: 'circle', symbolSize: 5, animation: false,
    lineStyle: { width: 2, color: plumb.systemColour(index) }, itemStyle: { color: plumb.systemColour(index) },
    labelLayout: { hideOverlap: true },
    data: system.points.map(([at, ns]) => ({
      value: [plumb.nines(at), ns > 0 ? ns : null], percent: at,
      symbolSize: asked.includes(at) ? 6 : 3,
      label: { show: data.systems.length === 1 && asked.includes(at), position: 'top', distance: 8, align: (plumb.nines(at) / most) * (look.width - left - 50) < 56 ? 'left' : 'right', formatter: plumb.time(ns), color: look.ink, fontFamily: plumb.family, fontSize: 11, fontWeight: 'bold' },
    })),
    ...(index === 0 ? { markLine: plumb.targetLine(target, look) } : {}),
  }));
  const top = frame.top + plumb.legendHeight(names, look, left) + (look.narrow ? 22 : 10);
  return plumb.option(data, look, frame, {
    legend: plumb.legend(names, look, frame.top - 6, left),
    tooltip: { trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 }, formatter: (item) => (item.data && item.data.percent !== undefined ? plumb.said([item.seriesName, `${item.data.percent} % of I/Os took at most ${plumb.time(item.value[1])}`]) : '') },
    grid: { left, right: 50, top, bottom: frame.below + 56 },
    xAxis: plumb.axis(look, 'share of I/Os that took no longer', percent, {
      min: 0, max: most, nameGap: 32, axisTick: { show: true, customValues: ticks, lineStyle: { color: look.axis } },
      axisLabel: { color: look.ink, fontFamily: plumb.family, fontSize: 11, formatter: percent, customValues: ticks, hideOverlap: true },
    }),
    yAxis: plumb.latencyAxis(look, look.scale === 'linear' ? 'latency' : 'latency (log scale)', [...points.map((point) => point[1]), target]),
    series,
  });
};
