// Tokens for scripts and other devices. A token is shown once, when it is created.
import { get, request } from './api.js';
import { h, keyedRows, setText } from './dom.js';
import { moment } from './format.js';
import { t } from './texts.js';
import { confirmThen, dialog, field, group, option, toast } from './ui.js';

const SCOPES = ['widget', 'read', 'log', 'control', 'admin'];

export function tokenList() {
  const list = h('ul', { class: 'plain-list' });
  const empty = h('p', { class: 'empty', hidden: true }, t.noTokens);
  const rows = keyedRows(list, (token) => token.id, () => {
    const label = h('strong');
    const more = h('span', { class: 'from' });
    const revoke = h('button', { type: 'button', class: 'plain', onclick: () => confirmThen(t.revokeToken, t.revokeWords(row.token.label), t.revoke, async () => {
      await request('DELETE', `/tokens/${row.token.id}`);
      refresh();
    }) }, t.revoke);
    const row = h('li', {}, h('span', { class: 'row-text' }, label, more), revoke);
    Object.assign(row, { label, more, revoke });
    return row;
  }, (row, token) => {
    row.token = token;
    setText(row.label, token.label);
    setText(row.more, [token.scope && t.scopes[token.scope], moment(token.createdAt)].filter(Boolean).join(' · '));
    row.revoke.setAttribute('aria-label', `${t.revoke}: ${token.label}`);
  });

  async function load() {
    const { tokens } = await get('/tokens');
    const open = tokens.filter((token) => !token.isRevoked);
    rows(open);
    empty.hidden = open.length > 0;
  }

  function make() {
    const label = h('input', { type: 'text', maxlength: 64, required: true });
    const scope = h('select', {}, SCOPES.map((each) => option(each, t.scopes[each], each === 'log')));
    dialog(t.newToken, [field(t.tokenLabel, label, { hint: t.tokenHint }), field(t.scope, scope)], { save: t.make, onsave: async () => {
      let made;
      try { made = await request('POST', '/tokens', { label: label.value.trim() || 'page', scope: scope.value }); } catch (error) {
        // The service may have created it: the list shows it, so that it can be revoked.
        refresh();
        throw error;
      }
      refresh();
      const shown = h('input', { type: 'text', readonly: true, value: made.token, class: 'secret', onfocus: (event) => event.target.select() });
      dialog(t.tokenMade, [h('p', {}, t.tokenOnce), field(t.token, shown)], {
        cancel: t.close, save: t.copy, onsave: async () => {
          // The clipboard requires a secure context; selection works without.
          try { await navigator.clipboard.writeText(made.token); toast(t.copied); } catch { shown.select(); document.execCommand('copy'); }
        },
      });
    } });
  }

  const refresh = () => load().catch(() => {
    setText(empty, t.tokensHidden);
    empty.hidden = false;
  });
  refresh();
  return group(t.tokens, 'tokens', h('p', { class: 'note' }, t.tokenWords), list, empty, h('button', { type: 'button', class: 'quiet', onclick: make }, t.newToken));
}
