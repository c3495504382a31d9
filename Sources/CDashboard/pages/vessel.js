// The cup or the human figure: a tap adds one cup. Its water moves by transforms only, which the browser's compositor
// animates without scripts.
import { h, setText, setVariables, svg } from './dom.js';

/** Outlines in a square of 1 by 1, scaled to the element. */
const OUTLINES = {
  cup: 'M.03 .01H.97L.85 .92Q.838 1 .75 1H.25Q.162 1 .15 .92Z',
  figure: 'M.5 0A.17 .076 0 0 1 .5 .152A.17 .076 0 0 1 .5 0ZM.32 .175H.68Q.97 .175 .97 .29V.55Q.97 .59 .885 .59Q.8 .59 .8 .55V.34H.775V.955Q.775 1 .66 1Q.545 1 .545 .955V.62H.455V.955Q.455 1 .34 1Q.225 1 .225 .955V.34H.2V.55Q.2 .59 .115 .59Q.03 .59 .03 .55V.29Q.03 .175 .32 .175Z',
};

/** A sine wave twice as wide as the vessel: after a shift by half it looks the same. */
function sine(className) {
  const points = Array.from({ length: 101 }, (_, index) => `${index * 2} ${(5 - 4.2 * Math.sin((index / 25) * Math.PI)).toFixed(2)}`);
  return svg('svg', { class: `wave ${className}`, viewBox: '0 0 200 10', preserveAspectRatio: 'none' },
    svg('path', { d: `M${points.join('L')}V10H0Z` }));
}

export function vessel(onclick) {
  const target = h('span', { class: 'layer target' });
  const water = h('span', { class: 'layer water' }, sine('back'), sine('front'), h('span', { class: 'depth' }));
  const shape = h('span', { class: 'vessel-shape' }, target, water);
  const clip = svg('path', {});
  const line = svg('path', { 'vector-effect': 'non-scaling-stroke' });
  const hint = h('span', { class: 'vessel-hint' });
  const node = h('button', { type: 'button', class: 'vessel', onclick },
    svg('svg', { class: 'defs', width: 0, height: 0, 'aria-hidden': 'true', focusable: 'false' },
      svg('clipPath', { id: 'vessel-clip', clipPathUnits: 'objectBoundingBox' }, clip)),
    shape,
    svg('svg', { class: 'vessel-outline', viewBox: '0 0 1 1', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' }, line),
    hint);

  const level = (element, part) => {
    const shown = Math.min(1, Math.max(0, part ?? 0));
    // At 0 the wave, which is above the water, is moved below the bottom.
    setVariables(element, { '--level': String(shown), '--sink': shown > 0 ? '0px' : '20px' });
  };

  return {
    node,
    shapeAs(kind) {
      node.dataset.shape = kind;
      clip.setAttribute('d', OUTLINES[kind]);
      line.setAttribute('d', OUTLINES[kind]);
    },
    update(state, words) {
      level(water, state.progress);
      level(target, state.targetProgress);
      target.dataset.urgency = state.displayUrgency;
      setText(hint, words.hint);
      if (node.getAttribute('aria-label') !== words.label) node.setAttribute('aria-label', words.label);
    },
    /** Immediate feedback to a tap, before the service's response. */
    splash() {
      node.classList.remove('splash');
      void node.offsetWidth; // Restarts the animation.
      node.classList.add('splash');
    },
  };
}
