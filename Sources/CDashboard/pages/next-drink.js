// When the next drink is due, with the configured reminders.
import { get } from './api.js';
import { countdown } from './format.js';
import { live, passed } from './live.js';
import { said, t } from './texts.js';

/** The enabled reminders: `pace`, `interval`, `adaptive`, `all` or `false`. */
let engine = false;

export const loadEngine = () => get('/settings').then((settings) => { engine = settings['reminders.enabled'] && settings['reminders.engine']; }).catch(() => {});

/** Seconds until the next drink; `null` without a countdown. */
export function secondsLeft(state = live.state) {
  if (state?.phase !== 'counting' || typeof state.timeUntilNext !== 'number') return null;
  return state.timeUntilNext - passed();
}

/** `text` and `caption`. Pace reminders show a drink as due when the day is below pace. */
export function nextDrink(state) {
  const isBehind = engine === 'pace' && state.displayUrgency > 0;
  const left = secondsLeft(state);
  if (state.phase === 'alerting' || (left !== null && isBehind)) return { text: t.dueNow, caption: '' };
  if (left !== null) return { text: countdown(left), caption: said(state.caption) };
  return { text: said(state.headline), caption: '' };
}
