package qd

// testedEmitters are the emitters whose runs are compared on several devices.
var testedEmitters = []string{"isoline", "searches", "bandit"}
