/** Litres with one decimal, as C writes `%.1f`: the nearest tenth of the binary number, and of two equally near the even one. */
export const tenthsOfLitre = (ml) => {
  // As `toFixed`, but that takes the larger of two. Only quarters lie in the middle: no other half of a tenth is a binary fraction.
  if (Math.abs(ml) % 500 === 250) return (Math.round(ml / 200) / 5).toFixed(1);
  return (ml / 1000).toFixed(1);
};
