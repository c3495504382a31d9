// Settings: each is saved when it is changed, but for the form of goal and schedule, which has Cancel and Save (tracker law A11).
import { get } from './api.js';
import { account, files } from './account.js';
import { device } from './device.js';
import { goalForm } from './goal-form.js';
import { h } from './dom.js';
import { presetList } from './presets.js';
import { settingRow } from './setting-row.js';
import { t } from './texts.js';
import { tokenList } from './tokens.js';
import { card, complain } from './ui.js';
import { live } from './live.js';

/** Groups of section 11, in the order in which people look for things. What stands in none is under "Other". */
const GROUPS = [
  ['drinking', ['hydration.glassMl', 'hydration.cupMl', 'hydration.quickAddMl', 'hydration.units', 'hydration.countSessionWater', 'week.firstDay']],
  ['reminders', ['reminders.enabled', 'reminders.engine', 'reminders.dailyLimit', 'reminders.maxPerDay', 'reminders.minDeficitMl', 'reminders.backOnTrack',
    'notify.sound', 'notify.timeSensitiveCritical', 'adaptive.intervalHours']],
  ['pace', ['pace.mode', 'pace.thresholdPercent', 'pace.testMode']],
  ['day', ['day.boundaryHour', 'day.zone', 'schedule.interval.wake', 'schedule.interval.sleep', 'schedule.adaptive.start', 'schedule.adaptive.end']],
  ['waterline', ['waterline.waterEveryNDrinks', 'waterline.timeReminders', 'waterline.intervalMinutes', 'waterline.warningThreshold', 'waterline.defaultWaterOz',
    'waterline.units', 'waterline.discreet', 'waterline.defaultPreset', 'waterline.bottleWater']],
  ['bottle', ['bottle.alias', 'bottle.timeZone', 'bottle.hold', 'bottle.pollWhenIdle', 'bottle.recordDialect', 'bottle.amountWidth', 'bottle.maxRecordAgeDays',
    'bottle.light', 'bottle.showGoal',
    'bottle.scanTimeoutS', 'bottle.connectTimeoutS', 'bottle.readDelayS']],
  ['connections', ['health.enabled', 'health.inbox', 'sync.url', 'sync.token', 'sync.tokenFile', 'http.listen', 'http.publicUrl', 'mqtt.url', 'mqtt.prefix', 'mqtt.commands',
    'mqtt.user', 'mqtt.password', 'mqtt.passwordFile', 'mqtt.caFile', 'mqtt.certificateFile', 'mqtt.keyFile', 'mqtt.discovery', 'mqtt.discoveryPrefix']],
  ['pocket', ['ntfy.url', 'ntfy.token', 'ntfy.tokenFile', 'ntfy.caFile',
    'webhook.url', 'webhook.secret', 'webhook.secretFile', 'webhook.caFile']],
];
const IN_FORM = ['hydration.goalMl', 'schedule.wake', 'schedule.sleep'];

export function settings(root) {
  const form = h('div');
  const groups = h('div', { class: 'groups' });
  const jumps = h('nav', { class: 'chips jumps', 'aria-label': t.pages.settings });
  root.append(h('div', { class: 'page-head' }, h('h2', { tabindex: '-1' }, t.pages.settings)), jumps,
    h('div', { class: 'settings' }, form, device(), groups));

  // The list is long, and on a phone very long.
  const jump = (to) => {
    const title = to.querySelector('h2, h3');
    return h('button', { type: 'button', class: 'chip', onclick: () => {
      title.tabIndex = -1;
      title.focus({ preventScroll: true });
      to.scrollIntoView({ block: 'start' });
    } }, title.textContent);
  };

  let isGone = false;
  load().catch(complain);

  async function load() {
    const [values, listed, presets] = await Promise.all([get('/settings'), get('/settings/catalogue'), get('/presets').catch(() => ({ presets: [] }))]);
    if (isGone) return;
    const entries = new Map((listed.settings ?? listed).map((entry) => [entry.name, entry]));
    const isWaterlineShown = live.state?.service?.waterlineShown !== false;
    form.replaceChildren(goalForm(values));
    const named = new Set([...IN_FORM, ...GROUPS.flatMap(([, names]) => names)]);
    const others = [...entries.keys()].filter((name) => !named.has(name));
    const cards = [];
    for (const [group, names] of [...GROUPS, ['other', others]]) {
      if (group === 'waterline' && !isWaterlineShown) continue;
      const known = names.filter((name) => entries.has(name) && name in values);
      if (!known.length) continue;
      cards.push(card(t.groups[group], { class: 'group', 'data-group': group },
        known.map((name) => settingRow(entries.get(name), values[name], { presets: presets.presets }))));
      if (group === 'waterline') cards.push(presetList(presets.presets));
    }
    groups.replaceChildren(...cards, tokenList(), files(), account());
    jumps.replaceChildren(...[...groups.children].map(jump));
  }

  return () => { isGone = true; };
}
