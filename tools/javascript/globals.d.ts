// What the page's scripts share beyond their imports, for the type checker only.

interface Window {
  brazoViewer: any; // viewer.js: what the page may ask of viser's client
  brazoShell: any; // shell.js: for the tests
  __viserMutable: any; // viser's client
  __viserSceneTree: any;
}

// The lab's own elements; their classes declare their methods.
interface HTMLElementTagNameMap {
  "brazo-move": any;
  "brazo-select": any;
  "brazo-slider": any;
}

// Numbers become text there.
interface Element {
  setAttribute(name: string, value: number): void;
}
