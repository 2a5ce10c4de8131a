/** A function that computes its result once for each object, and keeps it as long as the object lives. */
export function memoized<K extends object, V extends object>(compute: (key: K) => V): (key: K) => V {
  const results = new WeakMap<K, V>();
  return (key) => {
    let result = results.get(key);
    if (!result) {
      result = compute(key);
      results.set(key, result);
    }
    return result;
  };
}
