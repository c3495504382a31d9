// Settings in groups that open. Each setting is saved when it is changed, except the form of goal and schedule.
import { get } from './api.js';
import { account, files } from './account.js';
import { device } from './device.js';
import { goalForm } from './goal-form.js';
import { h } from './dom.js';
import { presetList } from './presets.js';
import { notificationsHint, testNotification } from './notification-test.js';
import { settingRow } from './setting-row.js';
import { t } from './texts.js';
import { tokenList } from './tokens.js';
import { complain, group } from './ui.js';
import { live } from './live.js';

/** Settings by group, in the order of display. All others are in the group "Other". */
const DAILY = {
  drinking: ['hydration.glassMl', 'hydration.cupMl', 'hydration.quickAddMl', 'hydration.units', 'hydration.countSessionWater', 'week.firstDay'],
  reminders: ['reminders.enabled', 'reminders.engine', 'reminders.dailyLimit', 'reminders.maxPerDay', 'reminders.minDeficitMl', 'reminders.backOnTrack',
    'adaptive.intervalHours', 'notify.desktop', 'notify.sound', 'notify.timeSensitiveCritical'],
  pace: ['pace.mode', 'pace.thresholdPercent', 'pace.testMode'],
  day: ['day.boundaryHour', 'day.zone', 'schedule.interval.wake', 'schedule.interval.sleep', 'schedule.adaptive.start', 'schedule.adaptive.end'],
  waterline: ['waterline.waterEveryNDrinks', 'waterline.timeReminders', 'waterline.intervalMinutes', 'waterline.warningThreshold', 'waterline.defaultWaterOz',
    'waterline.units', 'waterline.discreet', 'waterline.shared', 'waterline.defaultPreset', 'waterline.bottleWater'],
  bottle: ['bottle.alias', 'bottle.mode', 'bottle.light', 'bottle.showGoal', 'bottle.hold', 'bottle.pollWhenIdle', 'bottle.timeZone', 'bottle.recordDialect', 'bottle.amountWidth',
    'bottle.maxRecordAgeDays', 'bottle.scanTimeoutS', 'bottle.connectTimeoutS', 'bottle.readDelayS', 'bottle.trustClock'],
};
const CONNECTIONS = { health: 'health.', ntfy: 'ntfy.', webhook: 'webhook.', http: 'http.', sync: 'sync.', mqtt: 'mqtt.' };
const IN_FORM = ['hydration.goalMl', 'schedule.wake', 'schedule.sleep'];

export function settings(root) {
  const form = h('div');
  const groups = h('div', { class: 'groups' });
  root.append(h('div', { class: 'page-head' }, h('h2', { tabindex: '-1' }, t.pages.settings)),
    h('div', { class: 'settings' }, form, device(), groups));
  let isGone = false;
  load().catch(complain);

  async function load() {
    const [values, listed, { presets }] = await Promise.all([get('/settings'), get('/settings/catalogue'), get('/presets').catch(() => ({ presets: [] }))]);
    if (isGone) return;
    const entries = new Map((listed.settings ?? listed).filter(({ name }) => name in values).map((entry) => [entry.name, entry]));
    form.replaceChildren(goalForm(values));
    const inGroup = (name, names, ...more) => {
      const rows = names.filter((each) => entries.has(each)).map((each) => settingRow(entries.get(each), values[each], { presets, onsaved: name === 'reminders' ? reminderSaved : undefined }));
      return rows.length > 0 && group(t.groups[name], name, ...more, rows);
    };
    const named = new Set([...IN_FORM, ...Object.values(DAILY).flat()]);
    const startingWith = (start) => [...entries.keys()].filter((name) => name.startsWith(start));
    const others = [...entries.keys()].filter((name) => !named.has(name) && !Object.values(CONNECTIONS).some((start) => name.startsWith(start)));
    const isWaterlineShown = live.state?.service?.waterlineShown !== false;
    groups.replaceChildren(...[
      ...Object.entries(DAILY).filter(([name]) => name !== 'waterline' || isWaterlineShown)
        .map(([name, names]) => inGroup(name, names, name === 'reminders' && notificationsHint())),
      isWaterlineShown && presetList(presets), inGroup('other', others), files(), account(), tokenList(),
      ...Object.entries(CONNECTIONS).map(([name, start]) => inGroup(name, startingWith(start))),
    ].filter(Boolean));
    const wanted = location.hash && groups.querySelector(`[data-group="${CSS.escape(location.hash.slice(1))}"]`);
    if (wanted) { wanted.open = true; wanted.scrollIntoView(); }
  }

  const reminderSaved = (name, value) => { if (name === 'reminders.enabled' && value) testNotification().catch(complain); };

  return () => { isGone = true; };
}
