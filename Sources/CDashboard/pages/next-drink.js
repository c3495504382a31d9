// When the next drink is due, in the words of the reminders that are configured.
import { get } from './api.js';
import { countdown } from './format.js';
import { live, passed } from './live.js';
import { said, t } from './texts.js';

/** The reminders that are on: `pace`, `interval`, `adaptive`, `all` or `false`. */
let engine = false;

/** Reads which reminders are configured. Until then the countdown is shown. */
export const loadEngine = () => get('/settings').then((settings) => { engine = settings['reminders.enabled'] && settings['reminders.engine']; }).catch(() => {});

/** Seconds until the next drink; `null` where no countdown runs. */
export function secondsLeft(state = live.state) {
  if (state?.phase !== 'counting' || typeof state.timeUntilNext !== 'number') return null;
  return state.timeUntilNext - passed();
}

/** `text` of the moment and its `caption`. Pace reminders speak of a drink as soon as the day is behind. */
export function nextDrink(state) {
  const isBehind = engine === 'pace' && state.displayUrgency > 0;
  const left = secondsLeft(state);
  if (state.phase === 'alerting' || (left !== null && isBehind)) return { text: t.dueNow, caption: '' };
  if (left !== null) return { text: countdown(left), caption: said(state.caption) };
  return { text: said(state.headline), caption: '' };
}
