// The page alive: pictures drawn when they come into view, switches, themes, keys, and paper.
// Names are other people's: everything here is written as text nodes, never as markup.
'use strict';

plumb.page = (() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const chosen = { theme: 'auto', scale: 'log', without: new Set(), target: null, off: new Set() };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const theme = () => (chosen.theme === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen.theme);

  // The lines of a level that may be left out.
  const lines = [['average_ns', 'avg'], ['p50_ns', 'p50'], ['p95_ns', 'p95'], ['p99_ns', 'p99'], ['p999_ns', 'p99.9'], ['p9999_ns', 'p99.99'], ['max_ns', 'max']];
  // The narrowest that a chart can be drawn; below that it is made smaller, and at last its reader scrolls.
  const least = { sweep: 720, card: 1240 };
  const smallest = 0.72;
  const mostLive = 24;

  const make = (name, attributes, ...inside) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else if (value !== false) element.setAttribute(key, value);
    }
    element.append(...inside);
    return element;
  };

  // A picture's data as the switches want it; what is inside stays as it is.
  const dataOf = (picture) => {
    const data = { ...picture.data };
    if (chosen.target !== null && data.target_ns !== undefined) data.target_ns = chosen.target;
    if (Array.isArray(data.levels) && chosen.without.size > 0) {
      data.levels = data.levels.map((level) => Object.fromEntries(Object.entries(level).filter(([key]) => !chosen.without.has(key) || key === 'average_ns')));
    }
    if (Array.isArray(data.systems)) data.systems = data.systems.filter((system) => !chosen.off.has(system.name));
    return data;
  };

  const optionOf = (picture, width, height, look) => {
    const choice = { width, height, theme: look, scale: chosen.scale, live: true };
    const option = plumb.charts[picture.chart](dataOf(picture), plumb.look(choice));
    return { animation: false, ...option };
  };

  const figures = [...document.querySelectorAll('figure.chart')].map((figure) => ({ figure, picture: page.pictures[Number(figure.dataset.picture)], chart: null, at: -1 }));

  const sizeOf = (one) => {
    const [wide, high] = one.picture.size;
    const room = one.figure.clientWidth || wide;
    const width = Math.min(Math.max(room, least[one.picture.chart] || Math.min(wide, 720)), wide * 1.3);
    const scale = Math.max(Math.min(room / width, 1), smallest);
    return { width: Math.round(width), height: high, scale };
  };

  // The place a picture takes, so that nothing jumps when it is drawn.
  const reserve = (one) => {
    const { height, scale } = sizeOf(one);
    one.figure.style.minHeight = `${Math.ceil(height * scale)}px`;
  };

  const draw = (one) => {
    const { width, height, scale } = sizeOf(one);
    if (!one.live) {
      one.live = make('div', { class: 'live' });
      one.figure.append(one.live);
    }
    one.live.style.cssText = `width:${width}px;height:${height}px;transform:scale(${scale});margin:0 ${Math.round(width * (scale - 1))}px ${Math.round(height * (scale - 1))}px 0`;
    if (one.chart && (one.width !== width || one.height !== height)) one.chart.resize({ width, height });
    [one.width, one.height] = [width, height];
    one.chart ||= echarts.init(one.live, null, { renderer: 'svg', width, height });
    const option = optionOf(one.picture, width, height, theme());
    one.option = option;
    one.chart.setOption({ ...option, tooltip: { ...option.tooltip, className: 'tip' } }, true);
    const svg = one.live.querySelector('svg');
    if (svg) svg.setAttribute('aria-hidden', 'true');
    const said = option.aria && option.aria.label && option.aria.label.description;
    one.figure.setAttribute('aria-label', `${said || one.picture.title}. Arrow keys step through the values.`);
  };

  const forget = (one) => {
    if (one.chart) one.chart.dispose();
    if (one.live) one.live.remove();
    [one.chart, one.live, one.at] = [null, null, -1];
  };

  const again = () => figures.forEach((one) => {
    one.paper = null;
    if (one.chart) draw(one);
  });

  // Keys: step through what a pointer would find.
  const stops = (one) => (one.option.series || []).flatMap((series, seriesIndex) => (series.data || []).flatMap((item, dataIndex) => (
    series.type === 'custom' && !(item && item.name) && series.coordinateSystem === 'none' ? [] : [{ seriesIndex, dataIndex }]
  )));
  const step = (one, by) => {
    if (!one.chart) draw(one);
    const all = stops(one);
    if (all.length === 0) return;
    one.at = by === 'first' ? 0 : by === 'last' ? all.length - 1 : (one.at + by + all.length) % all.length;
    one.chart.dispatchAction({ type: 'showTip', ...all[one.at] });
    setTimeout(() => {
      const tip = one.live && one.live.querySelector('.tip');
      document.getElementById('said').textContent = tip ? tip.innerText : '';
    }, 50);
  };
  const keys = { ArrowRight: 1, ArrowLeft: -1, Home: 'first', End: 'last' };
  const listen = (one) => one.figure.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && one.chart) one.chart.dispatchAction({ type: 'hideTip' });
    if (!(event.key in keys) || event.target !== one.figure) return;
    event.preventDefault();
    step(one, keys[event.key]);
  });

  // Paper: each picture as it was designed, in light colours.
  const onPaper = (one) => {
    if (one.paper) return;
    const [width, height] = one.picture.size;
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
    drawing.setOption(optionOf(one.picture, width, height, 'light'));
    const text = drawing.renderToSVGString({ useViewBox: true });
    drawing.dispose();
    const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
    one.paper = make('div', { class: 'print', 'aria-hidden': 'true' }, document.importNode(parsed, true));
    one.figure.querySelectorAll('.print').forEach((old) => old.remove());
    one.figure.style.minHeight = '';
    one.figure.append(one.paper);
  };
  addEventListener('beforeprint', () => figures.forEach(onPaper));
  addEventListener('afterprint', () => figures.forEach((one) => {
    if (one.paper) one.paper.remove();
    one.paper = null;
    reserve(one);
  }));

  const has = (test) => page.pictures.some((picture) => test(picture.data, picture));
  const box = (name, ...inside) => make('fieldset', {}, make('legend', {}, name), ...inside);

  // A latency as people write it: `10ms`, `250 us`, `2s`; a bare number is milliseconds.
  const latency = (text) => {
    const found = /^\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
    const unit = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
    return found && Number(found[1]) > 0 ? Number(found[1]) * unit[found[2] || 'ms'] : null;
  };

  const themes = () => box('Theme', make('select', {
    'aria-label': 'Theme',
    onchange: (event) => { chosen.theme = event.target.value; dress(); },
  }, ...['auto', 'light', 'dark'].map((name) => make('option', { value: name }, name))));

  const scales = () => box('Latency axis', ...['log', 'linear'].map((name) => make('label', {}, make('input', {
    type: 'radio', name: 'scale', value: name, checked: name === chosen.scale ? '' : false,
    onchange: () => { chosen.scale = name; again(); },
  }), ` ${name}`)));

  const percentiles = () => {
    const known = lines.slice(1).filter(([key]) => has((data) => (data.levels || []).some((level) => level[key] > 0)));
    return box('Lines', ...known.map(([key, name]) => make('label', {}, make('input', {
      type: 'checkbox', checked: '', 'data-line': key,
      onchange: (event) => { chosen.without[event.target.checked ? 'delete' : 'add'](key); again(); },
    }), ` ${name}`)));
  };

  const targets = () => {
    const first = page.pictures.find((picture) => picture.data.target_ns !== undefined).data.target_ns;
    const field = make('input', {
      type: 'text', value: plumb.tick(first), 'aria-label': 'Latency target, like 10 ms',
      onchange: () => {
        const wanted = latency(field.value);
        field.setAttribute('aria-invalid', String(wanted === null));
        if (wanted === null) {
          field.value = plumb.tick(chosen.target ?? first);
          return;
        }
        chosen.target = wanted;
        again();
      },
    });
    return box('Target', field);
  };

  // One button per system of an overlay; colours come from the chart.
  const systems = () => {
    const names = [...new Set(page.pictures.flatMap((picture) => (picture.data.systems || []).map((system) => system.name)))];
    return make('div', { class: 'legend', role: 'group', 'aria-label': 'Systems' }, ...names.map((name) => make('button', {
      type: 'button', 'aria-pressed': 'true', title: name, dir: 'auto',
      onclick: (event) => {
        const shown = chosen.off.delete(name);
        if (!shown) chosen.off.add(name);
        event.currentTarget.setAttribute('aria-pressed', String(shown));
        again();
      },
    }, name)));
  };

  const controls = () => {
    const bar = document.getElementById('controls');
    bar.append(themes());
    if (has((_, picture) => plumb.scaled && plumb.scaled.includes(picture.chart))) bar.append(scales());
    if (has((data) => Array.isArray(data.levels))) bar.append(percentiles());
    if (has((data) => data.target_ns !== undefined)) bar.append(targets());
    if (has((data) => (data.systems || []).length > 1)) bar.append(systems());
    bar.hidden = false;
  };

  const dress = () => {
    document.documentElement.dataset.theme = theme();
    again();
  };

  const begin = () => {
    controls();
    dress();
    dark.addEventListener('change', dress);
    figures.forEach((one) => {
      reserve(one);
      listen(one);
    });
    const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
      const one = figures.find((candidate) => candidate.figure === entry.target);
      one.near = entry.isIntersecting;
      if (one.near && !one.chart) draw(one);
      if (!one.near && figures.filter((other) => other.chart).length > mostLive) forget(one);
    }), { rootMargin: '600px 0px' });
    figures.forEach((one) => seen.observe(one.figure));
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth === width) return;
      width = innerWidth;
      figures.forEach(reserve);
      figures.forEach((one) => one.chart && draw(one));
    });
    document.documentElement.dataset.ready = 'yes';
  };

  // Text is measured by the typeface that is inside; without it, by another, but never not at all.
  const faces = document.fonts ? Promise.all(['12px', 'bold 12px'].map((style) => document.fonts.load(`${style} ${plumb.family}`, 'µ'))) : Promise.resolve();
  faces.catch(() => {}).then(begin);
  return { data: page, make, charts: figures };
})();
