// Response times over the rate of arrivals: a line per percentile, the limits across, and the interval of the capacity as a band.
'use strict';

plumb.capacityLines = [['p50_ns', 'p50'], ['p99_ns', 'p99'], ['p99_9_ns', 'p99.9']];

plumb.heights.capacity = (data, look) => plumb.heightOf(data, look, plumb.capacityLines.map(([, name]) => name), 360);

plumb.charts.capacity = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const lines = plumb.capacityLines.filter(([key]) => data.trials.some((trial) => trial[key] > 0));
  const names = lines.map(([, name]) => name);
  const values = [...data.trials.flatMap((trial) => lines.map(([key]) => trial[key])), ...data.limits.map((limit) => limit.limit_ns)];
  const most = Math.max(...data.trials.map((trial) => trial.offered), data.high ?? 0, 1) * 1.05;
  const colour = (name) => plumb.systemColour(plumb.capacityLines.findIndex(([, known]) => known === name));
  const ink = (inside) => ({ color: look.target, fontFamily: plumb.family, fontSize: 10.5, ...inside });
  const limits = data.limits.map((limit) => ({ yAxis: limit.limit_ns, label: ink({ position: 'insideStartTop', formatter: limit.label }) }));
  const known = data.capacity > 0;
  const words = known ? `${plumb.count(data.capacity)} (${plumb.count(data.low)} to ${plumb.count(data.high)})` : '';
  // The words of the capacity stand where they have room: most trials are near it, at the right; on a narrow page the axis has its name there.
  const capacity = known ? [{ xAxis: data.capacity, label: ink({ position: 'end', distance: look.narrow ? 22 : 5, align: data.capacity > most * 0.6 ? 'right' : 'left', formatter: words }) }] : [];
  const ground = {
    type: 'line', name: 'limits', data: [], animation: false, silent: true,
    markLine: {
      symbol: 'none', silent: true, animation: false, lineStyle: { color: look.target, type: [9, 4], width: 1.2 },
      data: [...limits, ...capacity],
    },
    markArea: {
      silent: true, animation: false, itemStyle: { color: look.wedge },
      data: known ? [[{ xAxis: data.low }, { xAxis: data.high }]] : [],
    },
  };
  const series = lines.map(([key, name], index) => ({
    type: 'line', name, symbol: ['circle', 'diamond', 'triangle'][index], symbolSize: 6, animation: false,
    lineStyle: { width: 1.6, color: colour(name) }, itemStyle: { color: colour(name) },
    data: data.trials.filter((trial) => trial[key] > 0).map((trial) => ({ value: [trial.offered, trial[key]], trial, name })),
  }));
  return plumb.option(data, look, frame, {
    legend: plumb.legend(names, look, frame.top - 6, left),
    tooltip: {
      trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
      formatter: (item) => (item.data && item.data.trial
        ? plumb.said([`${plumb.count(item.data.trial.offered)} per second offered, ${plumb.count(item.data.trial.done)} done`, `${item.data.name} ${plumb.time(item.value[1])}`, `${plumb.percent(item.data.trial.over)} over the limit`])
        : ''),
    },
    grid: { left, right: 60, top: frame.top + plumb.legendHeight(names, look, left) + (look.narrow ? 50 : 26), bottom: frame.below + 56 },
    xAxis: plumb.axis(look, 'I/Os per second that arrive', plumb.count, { min: 0, max: most, nameGap: 32 }),
    yAxis: plumb.latencyAxis(look, look.scale === 'linear' ? 'response time' : 'response time (log scale)', values),
    series: [...series, ground],
  });
};
