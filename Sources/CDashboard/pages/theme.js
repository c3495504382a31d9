import { remembered } from './memory.js';

export function applyTheme() {
  const wanted = remembered.theme;
  if (wanted === 'light' || wanted === 'dark') document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
}
