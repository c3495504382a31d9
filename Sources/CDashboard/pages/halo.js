// The ring: 250 wide with a stroke of 20, clockwise from 12 o'clock. Under the arc of the day is the arc of the
// expected amount. While a drink is due the whole ring is a rainbow, also at 0 ml.
import { h, icon, setText, setVariables, svg } from './dom.js';
import { t } from './texts.js';

const SIZES = { page: { size: 250, stroke: 20, ring: 250 }, watch: { size: 184, stroke: 12, ring: 165.6 } };
let halos = 0;

/** `halo('page')`, or `halo('watch')`: stroke 12, 90 % of the square, without text inside. */
export function halo(kind = 'page') {
  const { size, stroke, ring } = SIZES[kind];
  const radius = ring / 2 - stroke / 2;
  const round = 2 * Math.PI * radius;
  const middle = size / 2;
  halos += 1;
  const paint = `halo-paint-${halos}`;
  const circle = (attributes) => svg('circle', {
    cx: middle, cy: middle, r: radius, fill: 'none', 'stroke-width': stroke, transform: `rotate(-90 ${middle} ${middle})`, ...attributes,
  });
  const arc = (attributes) => circle({ 'stroke-linecap': 'round', 'stroke-dasharray': round, 'stroke-dashoffset': round, ...attributes });
  const target = arc({ class: 'halo-target' });
  const progress = arc({ class: 'halo-progress', stroke: `url(#${paint})` });
  const rainbow = h('span', { class: 'halo-rainbow', hidden: true });
  const label = h('span', { class: 'halo-label' });
  const node = h('div', { class: `halo ${kind}`, role: 'img' },
    svg('svg', { viewBox: `0 0 ${size} ${size}`, 'aria-hidden': 'true', focusable: 'false' },
      // Blue at 12 o'clock, cyan opposite: along the ring this is the gradient blue-cyan-blue.
      svg('defs', {}, svg('linearGradient', { id: paint, gradientUnits: 'userSpaceOnUse', x1: size, y1: 0, x2: 0, y2: 0 },
        svg('stop', { offset: 0, class: 'halo-blue' }), svg('stop', { offset: 1, class: 'halo-cyan' }))),
      circle({ class: 'halo-track' }), target, progress),
    rainbow,
    kind === 'page' && h('span', { class: 'halo-middle', 'aria-hidden': 'true' }, icon('drop', 'halo-drop'), label));
  setVariables(rainbow, { '--stroke': stroke / ring });

  const turn = (element, part) => {
    const shown = Math.min(1, Math.max(0, part ?? 0));
    element.setAttribute('stroke-dashoffset', round * (1 - shown));
    // A round cap would draw a dot at 0.
    element.setAttribute('visibility', shown > 0 ? 'visible' : 'hidden');
  };

  return {
    node,
    update(state) {
      turn(progress, state.progress);
      turn(target, state.targetProgress);
      target.setAttribute('data-urgency', state.displayUrgency);
      rainbow.hidden = !state.isAlerting;
      setText(label, state.haloLabel);
      node.setAttribute('aria-label', t.haloWords(state));
    },
  };
}
