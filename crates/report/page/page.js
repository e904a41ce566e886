// The page alive: pictures drawn when they come into view, switches, themes, keys, and paper.
// Names are other people's: everything here is written as text nodes, never as markup.
'use strict';

plumb.page = (() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const chosen = { theme: 'auto', scale: 'log', without: new Set(), target: null, off: new Set() };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const theme = () => (chosen.theme === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen.theme);

  // The lines of latency that may be left out.
  const lines = [['p95_ns', 'p95'], ['p99_ns', 'p99'], ['p9999_ns', 'p99.99'], ['max_ns', 'max']];
  const linear = ['sweep', 'overlay', 'cdf', 'curve'];
  // The narrowest that a chart is drawn; on a screen that is narrower it is made smaller.
  const least = 340;
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

  // What the switches say, for a picture: its data cleaned as plumb itself cleans it, and how it is to look.
  const dressed = (one, width, height, look, medium) => {
    one.data ||= plumb.read(JSON.stringify(one.picture.data));
    const choice = { width, height, medium, theme: look, scale: chosen.scale, live: true, title: one.picture.heading, lines: ['avg', ...lines.map(([, name]) => name).filter((name) => !chosen.without.has(name))] };
    if (chosen.target !== null) choice.target_ns = chosen.target;
    return plumb.sized(one.picture.chart, one.data, choice);
  };
  const optionOf = (one, look) => {
    const option = { animation: false, ...plumb.charts[one.picture.chart](one.data, look) };
    if (option.legend) option.legend.selected = Object.fromEntries([...chosen.off].map((name) => [name, false]));
    return option;
  };

  const figures = [...document.querySelectorAll('figure.chart')].map((figure) => ({ figure, picture: page.pictures[Number(figure.dataset.picture)], chart: null, at: -1 }));

  // All figures are as wide as the column; asking each after changing another would lay the page out a thousand times.
  let column = 0;
  const measure = () => { column = figures.length > 0 ? figures[0].figure.clientWidth : 0; };
  const sizeOf = (one, look) => {
    const [wide, high] = one.picture.size;
    const room = column || wide;
    // A card is made a little smaller before its columns stand below each other.
    const floor = one.picture.chart === 'card' && room >= 1000 ? 1240 : least;
    const width = Math.round(Math.min(Math.max(room, floor), wide * 1.3));
    const scale = Math.min(room / width, 1);
    return { width, high: width < 700 ? null : high, scale, dress: () => dressed(one, width, high, look) };
  };

  // The place a picture takes, so that nothing jumps when it is drawn.
  const reserve = (one) => {
    const { high, scale, dress } = sizeOf(one, theme());
    // The data of a thousand pictures is not looked at before they are seen.
    const height = high || dress().height;
    one.figure.style.minHeight = `${Math.ceil(height * scale)}px`;
  };

  const draw = (one) => {
    const { width, scale, dress } = sizeOf(one, theme());
    const chosenLook = dress();
    const { height } = chosenLook;
    if (!one.live) {
      one.live = make('div', { class: 'live' });
      // ECharts keeps the wheel for itself; without Ctrl it scrolls the page.
      for (const turn of ['wheel', 'mousewheel']) one.live.addEventListener(turn, (event) => event.ctrlKey || event.stopPropagation(), { capture: true, passive: true });
      one.figure.append(one.live);
    }
    one.live.style.cssText = `width:${width}px;height:${height}px;transform:scale(${scale});margin:0 ${Math.round(width * (scale - 1))}px ${Math.round(height * (scale - 1))}px 0`;
    // A mark keeps the place and the turn of the one that had its number before: nothing may be left of the old drawing.
    if (one.chart) one.chart.clear();
    if (one.chart && (one.width !== width || one.height !== height)) one.chart.resize({ width, height });
    [one.width, one.height] = [width, height];
    if (!one.chart) {
      one.chart = echarts.init(one.live, null, { renderer: 'svg', width, height });
      one.chart.on('legendselectchanged', (event) => show(event.name, event.selected[event.name]));
    }
    const option = optionOf(one, chosenLook);
    one.option = option;
    one.chart.setOption({ ...option, tooltip: { ...option.tooltip, className: 'tip' } }, true);
    one.figure.style.minHeight = `${Math.ceil(height * scale)}px`;
    const said = option.aria && option.aria.label && option.aria.label.description;
    one.figure.setAttribute('aria-label', `${said || one.picture.heading}. Arrow keys step through the values.`);
  };

  const forget = (one) => {
    if (one.chart) one.chart.dispose();
    if (one.live) one.live.remove();
    [one.chart, one.live, one.at] = [null, null, -1];
  };

  const again = (concerns = () => true) => figures.forEach((one) => {
    one.paper = null;
    if (!one.chart || !concerns(one)) return;
    // What is not near is drawn when it is: a click must not wait for what nobody sees.
    if (one.near) draw(one);
    else forget(one);
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
    const [width, high] = one.picture.paper;
    const dress = dressed(one, width, high, 'light', 'paper');
    const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height: dress.height });
    drawing.setOption(optionOf(one, dress));
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

  // Every level of a picture, whoever's it is.
  const levelsOf = (data) => [...(data.levels || []), ...(data.systems || []).flatMap((system) => (Array.isArray(system) ? system[1].levels || [] : []))];
  const percentiles = () => {
    const known = lines.filter(([key]) => has((data) => levelsOf(data).some((level) => level[key] > 0)));
    return box('Lines', ...known.map(([key, name]) => make('label', {}, make('input', {
      type: 'checkbox', checked: '', 'data-line': key,
      onchange: (event) => { chosen.without[event.target.checked ? 'delete' : 'add'](name); again(); },
    }), ` ${name}`)));
  };

  const targets = () => {
    const asked = page.pictures.find((picture) => picture.data.target_ns > 0);
    const first = asked ? asked.data.target_ns : 0;
    const shown = (ns) => (ns > 0 ? plumb.tick(ns) : '');
    const field = make('input', {
      type: 'text', value: shown(first), placeholder: 'none', 'aria-label': 'Latency target, like 10 ms',
      onchange: () => {
        const wanted = field.value.trim() === '' ? 0 : latency(field.value);
        field.setAttribute('aria-invalid', String(wanted === null));
        if (wanted === null) {
          field.value = shown(chosen.target ?? first);
          return;
        }
        chosen.target = wanted;
        again();
      },
    });
    return box('Target', field);
  };

  // One button per name of an overlay, for all pictures at once; the legends in the pictures do the same.
  // Names are those of the drawings, which are clean.
  const nameOf = (system) => plumb.clean(Array.isArray(system) ? system[0] : system.name);
  const buttons = new Map();
  const show = (name, shown) => {
    chosen.off[shown ? 'delete' : 'add'](name);
    if (buttons.has(name)) buttons.get(name).setAttribute('aria-pressed', String(shown));
    again((one) => one.option.legend && one.option.legend.data.includes(name));
  };
  const systems = () => {
    for (const name of new Set(page.pictures.filter((picture) => picture.chart === 'overlay').flatMap((picture) => picture.data.systems.map(nameOf)))) {
      buttons.set(name, make('button', { type: 'button', 'aria-pressed': 'true', title: name, dir: 'auto', onclick: () => show(name, chosen.off.has(name)) }, name));
    }
    return make('div', { class: 'legend', role: 'group', 'aria-label': 'Systems' }, ...buttons.values());
  };

  const controls = () => {
    const bar = document.getElementById('controls');
    bar.append(themes());
    if (has((_, picture) => linear.includes(picture.chart))) bar.append(scales());
    if (has((data) => levelsOf(data).length > 0)) bar.append(percentiles());
    if (has((_, picture) => linear.includes(picture.chart))) bar.append(targets());
    if (has((_, picture) => picture.chart === 'overlay')) bar.append(systems());
    document.getElementById('switches').hidden = false;
    // A narrow screen has other things to show first.
    if (innerWidth < 700) document.getElementById('switches').open = false;
  };

  const dress = () => {
    document.documentElement.dataset.theme = theme();
    again();
  };

  const begin = () => {
    measure();
    controls();
    dress();
    dark.addEventListener('change', dress);
    figures.forEach((one) => {
      reserve(one);
      listen(one);
    });
    const of = new Map(figures.map((one) => [one.figure, one]));
    const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
      const one = of.get(entry.target);
      one.near = entry.isIntersecting;
      if (one.near && !one.chart) draw(one);
      if (!one.near && figures.filter((other) => other.chart).length > mostLive) forget(one);
    }), { rootMargin: '600px 0px' });
    figures.forEach((one) => seen.observe(one.figure));
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth === width) return;
      width = innerWidth;
      measure();
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
