package kubernetes

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// admit creates an object as an API server does: it decodes the text strictly, fills in defaults and validates. It
// returns the pod that the object makes, if it makes one.
func admit(t *testing.T, text []byte) (*corev1.PodTemplateSpec, error) {
	t.Helper()
	plain, kind, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	object, err := runtime.Decode(codecs.UniversalDecoder(), text)
	require.NoError(t, err)
	var strategy rest.RESTCreateStrategy
	switch x := object.(type) {
	case *batch.Job:
		strategy = job.Strategy
	case *apps.StatefulSet:
		strategy = statefulset.Strategy
	case *core.Service:
		strategy = service.Strategy
		x.Spec.ClusterIPs = []string{x.Spec.ClusterIP} // the server's storage does this
	case *core.PersistentVolumeClaim:
		strategy = persistentvolumeclaim.Strategy
	default:
		t.Fatalf("there is no strategy for %T", object)
	}
	fields, err := meta.Accessor(object)
	require.NoError(t, err)
	rest.FillObjectMetaSystemFields(fields)
	ctx := request.WithNamespace(request.NewContext(), "default")
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "create",
		APIGroup: kind.Group, APIVersion: kind.Version, Namespace: "default"})
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		return nil, err
	}
	require.Empty(t, strategy.WarningsOnCreate(ctx, object), fields.GetName())
	switch x := plain.(type) {
	case *batchv1.Job:
		return &x.Spec.Template, nil
	case *appsv1.StatefulSet:
		return &x.Spec.Template, nil
	}
	return nil, nil
}

func manifest(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return bytes.Split(text, []byte("\n---\n"))
}

// An API server creates all objects without a warning, and a namespace whose pods are restricted lets them run.
func TestAdmission(t *testing.T) {
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	pods := 0
	for _, name := range []string{"study.yaml", "hosts.yaml"} {
		for _, text := range manifest(t, name) {
			pod, err := admit(t, text)
			require.NoError(t, err, "%s", text)
			if pod == nil {
				continue
			}
			pods++
			restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
			for _, result := range rules.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				require.True(t, result.Allowed, "%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
	}
	require.Equal(t, 4, pods)
}

// What the first manifests had wrong, or nearly: an API server refuses it.
func TestRefused(t *testing.T) {
	documents := manifest(t, "hosts.yaml")
	hosts := string(documents[len(documents)-1])
	for _, c := range []struct{ old, new, want string }{
		{"restartPolicy: Never", "restartPolicy: OnFailure", "only \"Never\" is supported when podFailurePolicy"},
		{"values: [75]", "values: [75, 0]", "must not be 0 for the In operator"},
		{"completionMode: Indexed", "completionMode: NonIndexed", "requires indexed completion mode"},
		{"podFailurePolicy:", "podFailurePolicies:", `unknown field "spec.podFailurePolicies"`},
		{"claimName: runs", "claim: runs", `unknown field "spec.template.spec.volumes[0].persistentVolumeClaim.claim"`},
	} {
		require.Contains(t, hosts, c.old)
		_, err := admit(t, []byte(strings.Replace(hosts, c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want)
	}
}
