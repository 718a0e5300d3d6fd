package run

import (
	"maps"
	"path/filepath"
	"slices"

	"xlarun/envs"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// KeepPolicyFile sets the settings of a policy that comes from a file to all that the file decides, and to its digest.
// From then on a change of the file changes nothing in the experiment. It changes nothing in one whose policy comes
// from no file, or cannot be made. It reports whether it has changed settings.
func KeepPolicyFile(e Experiment) bool {
	play := e.Job().Play
	if _, is := policyMaker(e); play == nil || !is {
		return false
	}
	r, err := play.Rollout()
	if err != nil {
		return false
	}
	f := r.Policy.Traits().File
	if f != nil {
		setPolicy(e, f.Kept)
	}
	return f != nil
}

// KeepEnvironment sets an environment that comes from files to the id of its Spec, which has their digest. It changes
// nothing in one that is registered, or that cannot be made. It reports whether it has changed the setting.
func KeepEnvironment(e Experiment) bool {
	f, ok := settings.Lookup(e, "env")
	if !ok || slices.Contains(envs.IDs(), f.Text()) {
		return false
	}
	env, err := envs.Make(f.Text())
	return err == nil && f.Set(env.Spec().ID) == nil
}

// KeepToOneDevice sets the number of devices to 1 if the environment runs on the host, one batch at a time. It refuses
// more.
func KeepToOneDevice(e Experiment) error {
	f, ok := settings.Lookup(e, "env")
	if !ok {
		return nil
	}
	env, err := envs.Make(f.Text())
	if err != nil || !env.Spec().Host {
		return nil
	}
	on := e.On()
	if on.Devices > 1 {
		return settings.Wrong("devices", on.Devices, "1 for the environment %s, which runs on the host", f.Text())
	}
	on.Devices = 1
	return nil
}

// LeavePolicyFile changes the settings of a policy that comes from a file so that the file is not needed, for a run
// that goes on from a checkpoint, which has all parameters. It changes nothing in one that redraws (Job.Redraws).
func LeavePolicyFile(e Experiment) {
	if e.Job().Redraws {
		return
	}
	if m, ok := policyMaker(e); ok {
		setPolicy(e, m.WithoutFile())
	}
}

// PolicyCopy is the file of a run's folder with the bytes of the policy's file, if the experiment redraws.
const PolicyCopy = "policy.copy"

// CopyPolicyFile returns the bytes of PolicyCopy; nil if the run needs none.
func CopyPolicyFile(e Experiment) []byte {
	job := e.Job()
	if _, is := policyMaker(e); job.Play == nil || !is || !job.Redraws {
		return nil
	}
	r, err := job.Play.Rollout()
	if err != nil {
		return nil
	}
	if f := r.Policy.Traits().File; f != nil {
		return f.Bytes
	}
	return nil
}

// ReadPolicyCopy reads PolicyCopy in the folder of a run that goes on. Without it the policy's own file is read.
func ReadPolicyCopy(e Experiment, dir string) {
	if m, ok := policyMaker(e); ok && e.Job().Redraws {
		_ = m.ReadCopy(filepath.Join(dir, PolicyCopy)) // Check says what is wrong with the policy's own file
	}
}

// policyMaker returns what the settings of an experiment's policy can do, if it is of a file.
func policyMaker(e Experiment) (m policy.MakerTraits, ok bool) {
	for _, c := range settings.ChosenParts(e) {
		if c.Name == policy.Part().Name {
			m = policy.TraitsOf(c.Settings)
		}
	}
	return m, m.WithoutFile != nil
}

// setPolicy sets settings of the policy.
func setPolicy(e Experiment, values settings.Values) {
	own := e.(settings.HasParts).Own()
	all := maps.Clone(*own)
	if all == nil {
		all = settings.Values{}
	}
	for name, value := range values {
		all[policy.Part().Name+"."+name] = value
	}
	*own = all
}
