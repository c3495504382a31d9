// The gauge of the Waterline: vertical, centre 0, above it over-paced, below it buffered. The service gives the
// position of the mark, 0 to 1.
import { h, setText, setVariables } from './dom.js';
import { signed } from './format.js';
import { t } from './texts.js';

export function gauge() {
  const value = h('span', { class: 'gauge-value' });
  const mark = h('span', { class: 'gauge-mark' }, value);
  const fill = h('span', { class: 'gauge-fill' });
  const node = h('div', { class: 'gauge', role: 'meter', 'aria-label': t.gauge, 'aria-valuemin': '0', 'aria-valuemax': '1' },
    h('span', { class: 'gauge-end', 'aria-hidden': 'true' }, t.overPaced),
    h('span', { class: 'gauge-track', 'aria-hidden': 'true' }, fill, h('span', { class: 'gauge-centre' }), mark),
    h('span', { class: 'gauge-end', 'aria-hidden': 'true' }, t.buffered));
  return {
    node,
    update(session) {
      const position = session.gauge;
      setVariables(node, { '--position': String(position), '--from': String(Math.min(0.5, position)), '--length': String(Math.abs(position - 0.5)) });
      node.dataset.side = position > 0.5 ? 'over' : position < 0.5 ? 'under' : 'centre';
      node.classList.toggle('is-warning', session.isWarning);
      setText(value, signed(session.value));
      node.setAttribute('aria-valuenow', String(position));
      node.setAttribute('aria-valuetext', t.gaugeWords(signed(session.value)));
    },
  };
}
