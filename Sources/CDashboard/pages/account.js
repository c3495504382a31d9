import { BASE, get, request, scopeHere, send } from './api.js';
import { h, show } from './dom.js';
import { acceptState, ask } from './live.js';
import { mount } from './home.js';
import { forgetAll } from './memory.js';
import { t } from './texts.js';
import { confirmThen, dialog, field, group, toast } from './ui.js';
import { undo } from './drinks.js';

export function files() {
  const setting = (title, hint, ...controls) => h('div', { class: 'setting deed' }, h('div', { class: 'setting-words' }, h('strong', {}, title), h('small', {}, hint)), h('div', { class: 'setting-links' }, ...controls));
  const link = (path, words) => h('a', { class: 'button', href: BASE + path, download: '' }, words);
  const choose = h('input', { type: 'file', class: 'unseen', tabindex: '-1', 'aria-hidden': 'true', onchange: async () => {
    const [file] = choose.files;
    choose.value = '';
    if (!file) return;
    try {
      const answer = await send('/import', file);
      acceptState(answer?.state);
      ask();
      const done = t.importDone(answer?.added ?? 0, answer?.known ?? 0);
      if (answer?.remarks) toast(`${done}. ${answer.remarks.join(' ')}`, { seconds: 10 });
      else toast(done);
    } catch (error) {
      toast(error.message);
    }
  } });
  const backup = setting(t.backupTitle, t.backupHint, link('/backup', t.backupTitle));
  // Shown to administrators only.
  scopeHere().then((scope) => show(backup, scope === 'admin')).catch(() => {});
  return group(t.files, 'files',
    setting(t.exportTitle, t.exportHint, link('/export?format=csv', 'CSV'), link('/export?format=json', 'JSON'), link('/export?format=apple-health', 'Apple Health')),
    setting(t.importTitle, t.importHint, choose, h('button', { type: 'button', class: 'quiet', onclick: () => choose.click() }, t.importChoose)),
    backup);
}

/** Revokes this browser's token. A client at the service's socket has no token. */
function signOut() {
  const row = h('div', { class: 'setting deed', hidden: true }, h('div', { class: 'setting-words' }, h('strong', {}, t.signOut), h('small', {}, t.signOutHint)),
    h('button', { type: 'button', class: 'quiet', onclick: async () => {
      try {
        await request('DELETE', `/tokens/${(await get('/access')).token}`);
        forgetAll();
        location.assign(`${mount}/sign-in`);
      } catch (error) {
        toast(error.message);
      }
    } }, t.signOut));
  get('/access').then(({ token }) => show(row, Boolean(token))).catch(() => {});
  return row;
}

export function account() {
  const reset = () => confirmThen(t.resetTitle, t.resetWords, t.resetToday, async () => {
    const answer = await request('POST', '/reset-today');
    acceptState(answer?.state);
    ask();
    toast(t.resetDone, { action: t.undo, onaction: () => undo() });
  });
  const purge = () => {
    const word = h('input', { type: 'text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
    dialog(t.purgeTitle, [h('p', {}, t.purgeWords), field(t.purgeLabel, word)], { save: t.purge, isDangerous: true, onsave: async () => {
      if (word.value.trim() !== 'purge') throw new Error(t.purgeRule);
      await request('POST', '/purge', { confirm: 'purge' });
      forgetAll();
      location.assign(`${mount}/welcome`);
    } });
  };
  return group(t.account, 'account',
    h('div', { class: 'setting deed' }, h('div', { class: 'setting-words' }, h('strong', {}, t.resetToday), h('small', {}, t.resetHint)),
      h('button', { type: 'button', class: 'quiet', onclick: reset }, t.resetToday)),
    signOut(),
    h('div', { class: 'setting deed' }, h('div', { class: 'setting-words' }, h('strong', {}, t.purgeTitle), h('small', {}, t.purgeHint)),
      h('button', { type: 'button', class: 'danger', onclick: purge }, t.purge)));
}
