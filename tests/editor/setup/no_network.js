// Loaded before a program that must not need a network: any connection ends it.
"use strict";
const net = require("net");

net.Socket.prototype.connect = (...target) => {
  console.error("a connection was asked for:", target);
  process.exit(9);
};
