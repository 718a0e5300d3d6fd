package xlabridge

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memoryStore is a KeyValueStore of one process.
type memoryStore struct {
	mu    sync.Mutex
	data  map[string][]byte
	calls int
}

func (m *memoryStore) Get(ctx context.Context, key string) ([]byte, error) {
	for ; ; time.Sleep(time.Millisecond) {
		if value, ok, _ := m.TryGet(key); ok || ctx.Err() != nil {
			return value, ctx.Err()
		}
	}
}

func (m *memoryStore) TryGet(key string) (value []byte, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	value, ok = m.data[key]
	return value, ok, nil
}

func (m *memoryStore) Put(key string, value []byte) error {
	if key == "panics" {
		panic("of a store")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.data[key] = append([]byte{}, value...)
	return nil
}

// storePlugin is a plugin whose Client_Create uses the store, and returns an error with what came of it. What it does
// depends on the number of processes. A process has room for few plugins, so one does it all.
func storePlugin(t *testing.T) string {
	return cc(t, `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pjrt_abi.h"

struct xp_error { int code; char text[512]; };
static xp_error *error_of(int code, const char *message, size_t size) {
  xp_error *e = calloc(1, sizeof *e);
  e->code = code;
  memcpy(e->text, message, size < sizeof e->text ? size : sizeof e->text - 1);
  return e;
}
static xp_callback_error make = error_of;
static void error_destroy(xp_object_args *a) { free(a->of); }
static void error_message(xp_text_args *a) {
  a->text = ((xp_error *)a->of)->text;
  a->text_size = strlen(a->text);
}
static xp_error *error_code(xp_error_code_args *a) {
  a->code = a->error->code;
  return NULL;
}
static __thread char message[512];
static void say(const char *text, size_t size) { strncat(message, text, size); }
static long option(xp_client_create_args *a, const char *name) {
  for (size_t i = 0; i < a->num_options; i++)
    if (strlen(name) == a->create_options[i].name_size && !memcmp(name, a->create_options[i].name, strlen(name)))
      return a->create_options[i].value.int64_value;
  return -1;
}
static void result(xp_error *e) {
  char text[600];
  snprintf(text, sizeof text, "[%d %s]", e->code, e->text);
  say(text, strlen(text));
  free(e);
}
static void put(xp_client_create_args *c, const char *key, const char *value) {
  xp_kv_put_args a = {sizeof a, 0, key, strlen(key), value, strlen(value), &make, c->kv_put_user_arg};
  xp_error *e = ((xp_error * (*)(xp_kv_put_args *)) c->kv_put_callback)(&a);
  if (e) result(e);
}
static void get(xp_client_create_args *c, const char *key, int ms) {
  xp_kv_get_args a = {sizeof a, 0, key, strlen(key), ms, &make, c->kv_get_user_arg};
  xp_error *e = ((xp_error * (*)(xp_kv_get_args *)) c->kv_get_callback)(&a);
  if (e) { result(e); return; }
  say(a.value, a.value_size);
  a.value_deleter_callback(a.value);
}
static void try_get(xp_client_create_args *c, const char *key) {
  xp_kv_try_get_args a = {sizeof a, 0, key, strlen(key), &make, c->kv_try_get_user_arg};
  xp_error *e = ((xp_error * (*)(xp_kv_try_get_args *)) c->kv_try_get_callback)(&a);
  if (e) { result(e); return; }
  say(a.value, a.value_size);
  a.value_deleter_callback(a.value);
}
static xp_error *create(xp_client_create_args *c) {
  message[0] = 0;
  if (c->kv_get_callback == NULL) return error_of(12, "no store", 8);
  long node = option(c, "node_id"), nodes = option(c, "num_nodes");
  char mine[32], other[32];
  switch (nodes) {
  case 2:
    snprintf(mine, sizeof mine, "node:%ld/%ld", node, nodes);
    snprintf(other, sizeof other, "node:%ld/%ld", nodes - 1 - node, nodes);
    put(c, mine, node ? "one" : "zero");
    get(c, other, 20000);
    break;
  case 3: try_get(c, "absent"); break;
  case 4: get(c, "absent", 30); break;
  case 5: put(c, "panics", ""); break;
  case 6: put(c, "", ""); get(c, "", 1); put(c, "a", "b"); try_get(c, "a");
  }
  return error_of(12, message, strlen(message));
}
static xp_error *nothing(void *args) { return NULL; }
static struct { xp_api api; void *fn[200]; } table = {{ sizeof table, 0, { sizeof(xp_version), 0, 0, 104 } }};
const xp_api *GetPjrtApi(void) {
  for (int i = 0; i < 130; i++) table.api.fn[i] = nothing;
  table.api.fn[XP_ERROR_DESTROY] = error_destroy;
  table.api.fn[XP_ERROR_MESSAGE] = error_message;
  table.api.fn[XP_ERROR_CODE] = error_code;
  table.api.fn[XP_CLIENT_CREATE] = create;
  return &table.api;
}`, "-shared", "-fPIC")
}

// A plugin's client finds those of other processes by the store's callbacks: each puts its own key and gets the
// other's. What goes wrong in a store is an error of the plugin's call, with the code that the plugin knows.
func TestStoreOfProcesses(t *testing.T) {
	plugin := storePlugin(t)
	store := &memoryStore{data: map[string][]byte{}}
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() {
			_, errs[i] = Open(t.Context(), Options{PluginPath: plugin, NoCache: true,
				Distributed: &Distributed{ProcessID: i, NumProcesses: 2, Store: store}})
		})
	}
	both.Wait()
	require.ErrorContains(t, errs[0], "made no client: one")
	require.ErrorContains(t, errs[1], "made no client: zero")
	require.Equal(t, map[string][]byte{"node:0/2": []byte("zero"), "node:1/2": []byte("one")}, store.data)
	_, err := Open(t.Context(), Options{PluginPath: plugin, NoCache: true})
	require.ErrorContains(t, err, "no store", "a client of one process has no callbacks")

	for processes, want := range map[int]string{
		3: `[5 key "absent": the key has no value]`,
		4: `[4 key "absent", after 30 ms: context deadline exceeded]`,
		5: `[14 callback panic`,
		6: "made no client: b",
	} {
		_, err := Open(t.Context(), Options{PluginPath: plugin, NoCache: true,
			Distributed: &Distributed{NumProcesses: processes, Store: &memoryStore{data: map[string][]byte{}}}})
		require.ErrorContains(t, err, want, processes)
	}
	for i, d := range []Distributed{{}, {ProcessID: -1, NumProcesses: 2}, {ProcessID: 2, NumProcesses: 2}} {
		_, err := Open(t.Context(), Options{Distributed: &d, NoCache: true})
		require.ErrorContains(t, err, fmt.Sprintf("got process %d of %d", d.ProcessID, d.NumProcesses), i)
	}
}

// The plugin for CPUs has no options for processes, so it is refused before it is loaded. With the options it is
// the plugin that refuses.
func TestStoreOfCPUs(t *testing.T) {
	d := &Distributed{ProcessID: 1, NumProcesses: 2, Store: &memoryStore{data: map[string][]byte{}}}
	_, err := Open(t.Context(), Options{NoCache: true, Distributed: d})
	require.ErrorContains(t, err, "backend cpu: its plugin forms no mesh of several processes")
	c := open(t, Options{Devices: 2})
	_, err = Open(t.Context(), Options{NoCache: true, Distributed: d, PluginPath: c.lib.path})
	require.ErrorContains(t, err, "Unexpected option name passed to PJRT_Client_Create: n") // node_id or num_nodes
	n, err := c.NumGlobalDevices()
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
