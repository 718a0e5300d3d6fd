// Package study searches hyper-parameters: a Study asks a Sampler for the parameters of a Trial, somebody runs it, and is told
// what came of it. Words are Optuna's (Akiba et al., 2019): Study, Trial, Ask, Tell, Suggest, Sampler, Pruner, and so is what a
// Storage keeps.
//
// What a sampler or a pruner does for a trial follows from the study's seed, the trial's number and its View alone: which
// trials it sees, and how these ended. A View can be bounded by number (Ask's sees), so that a study whose trials run at the same
// time, in any order, asks the same questions each time.
package study
