// Settings of this device only: colour scheme and language.
import { h, icon } from './dom.js';
import { mount } from './home.js';
import { remembered } from './memory.js';
import { language, t } from './texts.js';
import { applyTheme } from './theme.js';
import { card, field, option } from './ui.js';

export function device() {
  const choice = (name, values, standing, onchange) => {
    const input = h('select', { onchange: () => onchange(input.value || null) }, values.map(([value, words]) => option(value, words, value === standing)));
    return field(name, input);
  };
  return card(t.thisDevice, { class: 'device-card' },
    h('p', { class: 'note' }, t.deviceWords),
    h('div', { class: 'goal-fields' },
      choice(t.theme, [['', t.system], ['light', t.light], ['dark', t.dark]], remembered.theme ?? '', (value) => { remembered.theme = value; applyTheme(); }),
      choice(t.language, [['en', 'English'], ['de', 'Deutsch']], language, (value) => { remembered.language = value; location.reload(); }),
      choice(t.shapeLabel, [['cup', t.shapes.cup], ['figure', t.shapes.figure]], remembered.shape ?? 'cup', (value) => { remembered.shape = value; })),
    h('p', {}, h('a', { class: 'link', href: `${mount}/watch` }, icon('drop'), t.watchPage)));
}
