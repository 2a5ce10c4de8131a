// Shows the operation that the editor will open with, long before the editor has loaded.

const plain = document.getElementById('plain-query');

/** The operation of the tab that was open last. */
function lastQuery(): string | undefined {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState') ?? '');
    return tabs[activeTabIndex].query;
  } catch {
    return undefined;
  }
}

const text = new URLSearchParams(location.search).get('query') ?? lastQuery();
// The editor may have taken its place by now.
if (text && plain) plain.textContent = text;
