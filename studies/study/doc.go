// Package study searches hyper-parameters. A Study asks a Sampler for the parameters of a Trial, the caller runs the
// trial, and tells the study its result. The names are from Optuna (Akiba et al., 2019): Study, Trial, Ask, Tell,
// Suggest, Sampler, Pruner. A Storage stores the same data as Optuna's.
//
// What a sampler or a pruner decides for a trial depends only on the seed of the study, the number of the trial and its
// View: the trials that it sees, and their results. A View can be bounded by number (see AskSpace), so that a study
// whose trials run in parallel, in any order, always asks the same trials.
package study
