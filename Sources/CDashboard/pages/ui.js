import { h, icon, setText } from './dom.js';
import { said, t } from './texts.js';

const spoken = () => document.getElementById('spoken');
const toasts = () => document.getElementById('toasts');

export const announce = (text) => setText(spoken(), text);

/** A short message over the page, with at most one action. It stays while one of its buttons has the focus or the
 *  pointer. */
export function toast(words, { action, onaction, isProblem = false, seconds = 6 } = {}) {
  const text = isProblem ? said(words) : words;
  const close = () => { clearTimeout(timer); note.remove(); };
  const note = h('div', { class: isProblem ? 'toast problem' : 'toast', role: isProblem ? 'alert' : null },
    h('span', {}, text),
    action && h('button', { class: 'plain', onclick: () => { close(); onaction(); } }, action),
    h('button', { class: 'plain close', 'aria-label': t.close, onclick: close }, '×'));
  let timer = setTimeout(close, seconds * 1000);
  const hold = () => clearTimeout(timer);
  const release = () => { timer = setTimeout(close, seconds * 1000); };
  note.addEventListener('pointerenter', hold);
  note.addEventListener('pointerleave', release);
  note.addEventListener('focusin', hold);
  note.addEventListener('focusout', release);
  // One message at a time; an error is shown in addition to a success.
  for (const old of [...toasts().children]) if (old.classList.contains('problem') === isProblem) old.remove();
  toasts().append(note);
  if (!isProblem) announce(text);
  return close;
}

export const complain = (error) => toast(error?.message ?? String(error), { isProblem: true, seconds: 10 });

/** Runs the action of a control, not twice at once, and shows its error. */
export function act(work) {
  let isBusy = false;
  return async (event) => {
    event?.preventDefault?.();
    if (isBusy) return;
    isBusy = true;
    const control = event?.currentTarget;
    control?.setAttribute?.('aria-busy', 'true');
    try { await work(event); } catch (error) { complain(error); } finally {
      isBusy = false;
      control?.removeAttribute?.('aria-busy');
    }
  };
}

let dialogs = 0;

/** A dialog with a form. If `onsave(form)` throws, the dialog shows the error and stays open. Escape and Cancel
 *  close it without changes. */
export function dialog(title, content, { save = t.save, cancel = t.cancel, onsave, isDangerous = false } = {}) {
  dialogs += 1;
  const before = document.activeElement;
  const error = h('p', { class: 'error', role: 'alert', hidden: true });
  const close = () => box.close();
  let isBusy = false;
  const form = h('form', { novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    form.setAttribute('aria-busy', 'true');
    try {
      await onsave?.(form);
      close();
    } catch (problem) {
      error.hidden = false;
      setText(error, said(problem.message));
      form.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid');
      const field = form.querySelector('input, select');
      if (field) { field.setAttribute('aria-invalid', 'true'); field.focus(); }
    } finally {
      isBusy = false;
      form.removeAttribute('aria-busy');
    }
  } }, content, error,
  h('div', { class: 'actions' },
    h('button', { type: 'button', class: 'quiet', onclick: close }, cancel),
    onsave && h('button', { type: 'submit', class: isDangerous ? 'danger' : 'primary' }, save)));
  const box = h('dialog', { class: 'sheet', 'aria-labelledby': `dialog-${dialogs}` },
    h('h2', { id: `dialog-${dialogs}` }, title), form);
  box.addEventListener('close', () => {
    box.remove();
    if (document.contains(before)) before.focus();
  });
  box.addEventListener('pointerdown', (event) => {
    if (event.target !== box) return;
    const edge = box.getBoundingClientRect();
    const isInside = event.clientX >= edge.left && event.clientX <= edge.right && event.clientY >= edge.top && event.clientY <= edge.bottom;
    if (!isInside) close();
  });
  document.body.append(box);
  box.showModal();
  return { box, form, close };
}

export const confirmThen = (title, text, yes, work, { isDangerous = true } = {}) =>
  dialog(title, h('p', {}, text), { save: yes, onsave: work, isDangerous });

let fields = 0;

export function field(label, control, { hint, className = 'field' } = {}) {
  fields += 1;
  const id = `field-${fields}`;
  control.id = id;
  const notes = hint ? h('small', { id: `${id}-hint` }, hint) : null;
  if (notes) control.setAttribute('aria-describedby', notes.id);
  return h('div', { class: className }, h('label', { for: id }, label), control, notes);
}

export function stepperField(label, input, step, options) {
  const whole = field(label, input, options);
  const frame = h('div', { class: 'stepper' });
  input.replaceWith(frame);
  frame.append(h('button', { type: 'button', 'aria-label': t.less, onclick: () => step(-1) }, '−'), input,
    h('button', { type: 'button', 'aria-label': t.more, onclick: () => step(1) }, '+'));
  return whole;
}

export const option = (value, text, isSelected = false) => h('option', { value, selected: isSelected }, text);

export const iconButton = (name, label, onclick, className = 'icon-button') =>
  h('button', { type: 'button', class: className, 'aria-label': label, title: label, onclick }, icon(name));

export const group = (title, name, ...children) =>
  h('details', { class: 'card group', 'data-group': name }, h('summary', {}, h('h2', {}, title)), ...children);

export const card = (title, attributes, ...children) => {
  fields += 1;
  const id = `card-${fields}`;
  const { head, class: extra, ...rest } = attributes ?? {};
  return h('section', { class: `card ${extra ?? ''}`.trim(), 'aria-labelledby': id, ...rest },
    h('div', { class: 'card-head' }, h('h2', { id, tabindex: '-1' }, title), head), ...children);
};
