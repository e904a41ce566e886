// Time and throughput over block size, with the fitted cost model and how far it misses each point.
'use strict';

plumb.heights.blocks = (data, look) => plumb.heightOf(data, look, ['measured', 'model'], 480);

plumb.charts.blocks = (data, look) => {
  const left = plumb.left(look);
  const frame = plumb.frame(data, look, left);
  const power = (bytes) => Math.log2(bytes);
  const sizes = data.points.map((point) => power(point.bytes));
  const [low, high] = [Math.floor(Math.min(...sizes, 40)) - 0.5, Math.ceil(Math.max(...sizes, 1)) + 0.5];
  const ticks = plumb.unique(sizes.map((size) => Math.round(size)));
  const top = frame.top + (look.narrow ? 44 : 34);
  const height = look.height - top - frame.below - 56;
  const panels = [{ top, height: height * 0.4 - 24 }, { top: top + height * 0.4, height: height * 0.37 - 24 }, { top: top + height * 0.77, height: height * 0.23 }];
  const x = (index) => plumb.axis(look, index === 2 ? 'block size (log scale)' : '', (value) => (index === 2 ? plumb.size(2 ** value) : ''), {
    gridIndex: index, min: low, max: high, nameGap: 32, splitLine: { show: false },
    axisTick: { show: true, customValues: ticks, lineStyle: { color: look.axis } },
    axisLabel: { color: look.ink, fontFamily: plumb.family, fontSize: 11, formatter: (value) => (index === 2 ? plumb.size(2 ** value) : ''), customValues: ticks, hideOverlap: true },
  });
  const times = [...data.points.map((point) => point.time_ns), ...data.curve.map((point) => point.time_ns)];
  const [measured, fitted] = [plumb.systems[0], plumb.systems[1]];
  const line = (index, name, values) => ({ type: 'line', name, xAxisIndex: index, yAxisIndex: index, symbol: 'none', smooth: false, animation: false, lineStyle: { color: fitted, width: 2 }, itemStyle: { color: fitted }, data: values, silent: true });
  const dots = (index, values, written) => ({
    type: 'scatter', name: 'measured', xAxisIndex: index, yAxisIndex: index, symbolSize: 8, animation: false, itemStyle: { color: measured },
    labelLayout: { hideOverlap: true },
    label: { show: true, position: 'top', distance: 6, color: look.ink, fontFamily: plumb.family, fontSize: 10.5, formatter: (item) => written(data.points[item.dataIndex]) },
    data: data.points.map((point, at) => ({ value: [power(point.bytes), values(point)], point: at, label: { align: end(at) } })),
  });
  const worst = plumb.step(Math.max(0.02, ...data.points.map((point) => Math.abs(point.error || 0))) * 1.3, 1);
  const end = (place) => (look.narrow && place === 0 ? 'left' : look.narrow && place === data.points.length - 1 ? 'right' : 'center');
  const room = ((look.width - left - 40) / (high - low)) * 2;
  const largest = Math.max(...data.points.map((point) => Math.abs(point.error || 0)));
  const barWidth = Math.min(26, (look.width - left - 40) / (high - low) / 2);
  const errors = {
    type: 'custom', name: 'error', xAxisIndex: 2, yAxisIndex: 2, animation: false,
    data: data.points.filter((point) => typeof point.error === 'number').map((point) => ({ value: [power(point.bytes), point.error], point: data.points.indexOf(point) })),
    renderItem: (params, api) => {
      const error = api.value(1);
      const [[x, y], [, zero]] = [api.coord([api.value(0), error]), api.coord([api.value(0), 0])];
      const words = `${plumb.signed(error * 100)} %`;
      return {
        type: 'group',
        children: [
          { ...plumb.rect(x - barWidth / 2, Math.min(y, zero), barWidth, Math.abs(y - zero), Math.abs(error) > 0.1 ? look.alarm : look.faint), name: 'error' },
          ...(room >= (look.narrow ? 70 : 46) || Math.abs(error) === largest ? [plumb.text(x, error < 0 ? y + 9 : y - 9, words, look.font(10), look.ink, end(params.dataIndex))] : []),
        ],
      };
    },
  };
  return plumb.option(data, look, frame, {
    legend: { ...plumb.legend(['measured', 'model'], look, frame.top - 6, left), data: ['measured', 'model'] },
    tooltip: {
      trigger: 'item', confine: true, backgroundColor: look.paper, borderColor: look.axis, textStyle: { color: look.ink, fontFamily: plumb.family, fontSize: 12 },
      formatter: (item) => {
        const point = item.data && data.points[item.data.point];
        return point ? plumb.said([point.label, `measured ${plumb.time(point.time_ns)}, ${plumb.rate(point.rate)}`, ...(point.model_ns ? [`model ${plumb.time(point.model_ns)}, off by ${plumb.signed(point.error * 100)} %`] : [])]) : '';
      },
    },
    grid: panels.map((panel) => ({ left, right: 40, ...panel })),
    xAxis: [0, 1, 2].map(x),
    yAxis: [
      plumb.latencyAxis(look, 'time of an I/O', times, { gridIndex: 0 }),
      plumb.rateAxis(look, 'throughput\n(MiB/s)', data.points.map((point) => point.rate), { gridIndex: 1, nameGap: 54 }),
      plumb.axis(look, 'error of\nthe model', plumb.percent, { gridIndex: 2, min: -worst, max: worst, interval: worst, nameGap: 46, splitNumber: 2 }),
    ],
    series: [
      line(0, 'model', data.curve.map((point) => [power(point.bytes), point.time_ns])),
      line(1, 'model', data.curve.map((point) => [power(point.bytes), (point.bytes * 1e9) / point.time_ns])),
      dots(0, (point) => point.time_ns, (point) => plumb.time(point.time_ns)),
      dots(1, (point) => point.rate, (point) => plumb.rate(point.rate)),
      errors,
    ],
  });
};
