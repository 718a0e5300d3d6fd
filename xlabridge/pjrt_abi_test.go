package xlabridge_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/internal/ctest"
)

// abiFields pairs our structures and fields with those of the header that go-xla is built from.
var abiFields = map[string][]string{
	"xp_version PJRT_Api_Version": {"major_version", "minor_version"},
	"xp_api PJRT_Api": {"version pjrt_api_version",
		"fn PJRT_Error_Destroy"},
	"xp_plugin_initialize_args PJRT_Plugin_Initialize_Args": {},
	"xp_plugin_attributes_args PJRT_Plugin_Attributes_Args": {"attributes", "num_attributes"},
	"xp_object_args PJRT_Event_Await_Args":                  {"of event"},
	"xp_object_args PJRT_Event_Destroy_Args":                {"of event"},
	"xp_object_args PJRT_Client_Destroy_Args":               {"of client"},
	"xp_list_args PJRT_Client_Devices_Args":                 {"of client", "list devices", "size num_devices"},
	"xp_client_assignment_args PJRT_Client_DefaultDeviceAssignment_Args": {"client", "num_replicas", "num_partitions",
		"size default_assignment_size", "assignment default_assignment"},
	"xp_text_args PJRT_DeviceDescription_DebugString_Args": {"of device_description",
		"text debug_string", "text_size debug_string_size"},
	"xp_layout PJRT_Buffer_MemoryLayout": {"type", "tiled.minor_to_major", "tiled.minor_to_major_size",
		"tiled.num_tiles"},
	"xp_from_host_args PJRT_Client_BufferFromHostBuffer_Args": {"client", "data", "type", "dims", "num_dims",
		"byte_strides", "num_byte_strides", "semantics host_buffer_semantics", "device", "memory",
		"layout device_layout", "done done_with_host_buffer", "buffer"},
	"xp_object_args PJRT_Buffer_Destroy_Args":               {"of buffer"},
	"xp_buffer_type_args PJRT_Buffer_ElementType_Args":      {"buffer", "type"},
	"xp_buffer_dims_args PJRT_Buffer_Dimensions_Args":       {"buffer", "dims", "num_dims"},
	"xp_buffer_pointer_args PJRT_Buffer_UnsafePointer_Args": {"buffer", "pointer buffer_pointer"},
	"xp_to_host_args PJRT_Buffer_ToHostBuffer_Args": {"buffer src", "layout host_layout", "dst", "size dst_size",
		"event"},
	"xp_execute_options PJRT_ExecuteOptions": {"send_callbacks", "recv_callbacks", "num_send num_send_ops",
		"num_recv num_recv_ops", "launch_id", "kept non_donatable_input_indices",
		"num_kept num_non_donatable_input_indices", "context", "call_location", "num_tasks", "task_ids",
		"incarnation_ids", "multi_slice_config"},
	"xp_execute_args PJRT_LoadedExecutable_Execute_Args": {"loaded executable", "options", "arguments argument_lists",
		"num_devices", "num_args", "outputs output_lists", "complete device_complete_events", "device execute_device"},
	"xp_named_value PJRT_NamedValue": {"name", "name_size", "type",
		"value string_value", "value_size"},
	"xp_object_args PJRT_Error_Destroy_Args":     {"of error"},
	"xp_text_args PJRT_Error_Message_Args":       {"of error", "text message", "text_size message_size"},
	"xp_error_code_args PJRT_Error_GetCode_Args": {"error", "code"},
	"xp_client_create_args PJRT_Client_Create_Args": {"create_options", "num_options",
		"kv_get_callback", "kv_get_user_arg", "kv_put_callback", "kv_put_user_arg", "client", "kv_try_get_callback",
		"kv_try_get_user_arg"},
	"xp_kv_get_args PJRT_KeyValueGetCallback_Args": {"key", "key_size", "timeout_in_ms", "callback_error", "user_arg",
		"value", "value_size", "value_deleter_callback"},
	"xp_kv_try_get_args PJRT_KeyValueTryGetCallback_Args": {"key", "key_size", "callback_error", "user_arg", "value",
		"value_size", "value_deleter_callback"},
	"xp_kv_put_args PJRT_KeyValuePutCallback_Args": {"key", "key_size", "value", "value_size", "callback_error",
		"user_arg"},
	"xp_text_args PJRT_Client_PlatformName_Args": {"of client", "text platform_name",
		"text_size platform_name_size"},
	"xp_text_args PJRT_Client_PlatformVersion_Args": {"of client", "text platform_version",
		"text_size platform_version_size"},
	"xp_list_args PJRT_Client_AddressableDevices_Args": {"of client", "list addressable_devices",
		"size num_addressable_devices"},
	"xp_device_description_args PJRT_Device_GetDescription_Args": {
		"device", "description device_description"},
	"xp_text_args PJRT_DeviceDescription_Kind_Args": {"of device_description",
		"text device_kind", "text_size device_kind_size"},
	"xp_device_memory_args PJRT_Device_MemoryStats_Args": {"device", "bytes_in_use",
		"peak_bytes_in_use", "peak_bytes_in_use_is_set", "bytes_limit", "bytes_limit_is_set", "peak_pool_bytes",
		"peak_pool_bytes_is_set"},
	"xp_program PJRT_Program": {"code", "code_size", "format",
		"format_size"},
	"xp_compile_args PJRT_Client_Compile_Args": {"client", "program", "compile_options",
		"compile_options_size", "executable"},
	"xp_loaded_executable_args PJRT_LoadedExecutable_GetExecutable_Args": {"loaded loaded_executable", "executable"},
	"xp_object_args PJRT_Executable_Destroy_Args":                        {"of executable"},
	"xp_object_args PJRT_LoadedExecutable_Destroy_Args":                  {"of executable"},
	"xp_serialize_args PJRT_Executable_GetCompileOptions_Args": {"executable", "bytes serialized_bytes",
		"bytes_size serialized_bytes_size", "object serialized_compile_options",
		"deleter serialized_compile_options_deleter"},
	"xp_serialize_args PJRT_Executable_Serialize_Args": {"executable", "bytes serialized_bytes",
		"bytes_size serialized_bytes_size", "object serialized_executable",
		"deleter serialized_executable_deleter"},
	"xp_deserialize_args PJRT_Executable_DeserializeAndLoad_Args": {"client", "bytes serialized_executable",
		"bytes_size serialized_executable_size", "loaded loaded_executable",
		"options overridden_serialized_compile_options", "options_size overridden_serialized_compile_options_size"},
	"xp_num_outputs_args PJRT_Executable_NumOutputs_Args": {"executable", "num_outputs"},
	"xp_topology_create_args PJRT_TopologyDescription_Create_Args": {"name topology_name",
		"name_size topology_name_size", "create_options", "num_options", "topology"},
	"xp_object_args PJRT_TopologyDescription_Destroy_Args": {"of topology"},
	"xp_text_args PJRT_TopologyDescription_PlatformName_Args": {"of topology", "text platform_name",
		"text_size platform_name_size"},
	"xp_text_args PJRT_TopologyDescription_PlatformVersion_Args": {"of topology", "text platform_version",
		"text_size platform_version_size"},
	"xp_list_args PJRT_TopologyDescription_GetDeviceDescriptions_Args": {"of topology",
		"list descriptions", "size num_descriptions"},
	"xp_topology_compile_args PJRT_Compile_Args": {"topology", "program", "compile_options",
		"compile_options_size", "client", "executable"},
	"xp_cost_args PJRT_Executable_GetCostAnalysis_Args": {"executable", "num_properties",
		"properties"},
	"xp_optimized_args PJRT_Executable_OptimizedProgram_Args": {"executable", "program"},
	"xp_executable_memory_args PJRT_Executable_GetCompiledMemoryStats_Args": {
		"executable", "generated_code generated_code_size_in_bytes", "arguments argument_size_in_bytes",
		"outputs output_size_in_bytes", "aliases alias_size_in_bytes", "temporaries temp_size_in_bytes",
		"host_temporaries host_temp_size_in_bytes", "peak peak_memory_in_bytes",
		"peak_unpadded_heap peak_unpadded_heap_bytes"},
}

// abiPlaces pairs our places in the table with the names there.
var abiPlaces = map[string]string{
	"XP_ERROR_DESTROY":              "PJRT_Error_Destroy",
	"XP_ERROR_MESSAGE":              "PJRT_Error_Message",
	"XP_ERROR_CODE":                 "PJRT_Error_GetCode",
	"XP_CLIENT_CREATE":              "PJRT_Client_Create",
	"XP_CLIENT_DESTROY":             "PJRT_Client_Destroy",
	"XP_CLIENT_PLATFORM_NAME":       "PJRT_Client_PlatformName",
	"XP_CLIENT_PLATFORM_VERSION":    "PJRT_Client_PlatformVersion",
	"XP_CLIENT_ADDRESSABLE_DEVICES": "PJRT_Client_AddressableDevices",
	"XP_CLIENT_COMPILE":             "PJRT_Client_Compile",
	"XP_DESCRIPTION_KIND":           "PJRT_DeviceDescription_Kind",
	"XP_DEVICE_DESCRIPTION":         "PJRT_Device_GetDescription",
	"XP_DEVICE_MEMORY_STATS":        "PJRT_Device_MemoryStats",
	"XP_EXECUTABLE_DESTROY":         "PJRT_Executable_Destroy",
	"XP_EXECUTABLE_NUM_OUTPUTS":     "PJRT_Executable_NumOutputs",
	"XP_TOPOLOGY_CREATE":            "PJRT_TopologyDescription_Create",
	"XP_TOPOLOGY_DESTROY":           "PJRT_TopologyDescription_Destroy",
	"XP_TOPOLOGY_PLATFORM_NAME":     "PJRT_TopologyDescription_PlatformName",
	"XP_TOPOLOGY_PLATFORM_VERSION":  "PJRT_TopologyDescription_PlatformVersion",
	"XP_TOPOLOGY_DESCRIPTIONS":      "PJRT_TopologyDescription_GetDeviceDescriptions",
	"XP_COMPILE":                    "PJRT_Compile",
	"XP_EXECUTABLE_COST":            "PJRT_Executable_GetCostAnalysis",
	"XP_EXECUTABLE_OPTIMIZED":       "PJRT_Executable_OptimizedProgram",
	"XP_EXECUTABLE_SERIALIZE":       "PJRT_Executable_Serialize",
	"XP_LOADED_EXECUTABLE":          "PJRT_LoadedExecutable_GetExecutable",
	"XP_DESERIALIZE_AND_LOAD":       "PJRT_Executable_DeserializeAndLoad",
	"XP_EXECUTABLE_MEMORY_STATS":    "PJRT_Executable_GetCompiledMemoryStats",
	"XP_EXECUTABLE_COMPILE_OPTIONS": "PJRT_Executable_GetCompileOptions",
	"XP_LOADED_DESTROY":             "PJRT_LoadedExecutable_Destroy",
	"XP_PLUGIN_INITIALIZE":          "PJRT_Plugin_Initialize",
	"XP_PLUGIN_ATTRIBUTES":          "PJRT_Plugin_Attributes",
	"XP_EVENT_DESTROY":              "PJRT_Event_Destroy",
	"XP_EVENT_AWAIT":                "PJRT_Event_Await",
	"XP_CLIENT_DEVICES":             "PJRT_Client_Devices",
	"XP_CLIENT_DEFAULT_ASSIGNMENT":  "PJRT_Client_DefaultDeviceAssignment",
	"XP_BUFFER_FROM_HOST":           "PJRT_Client_BufferFromHostBuffer",
	"XP_DESCRIPTION_DEBUG":          "PJRT_DeviceDescription_DebugString",
	"XP_LOADED_EXECUTE":             "PJRT_LoadedExecutable_Execute",
	"XP_BUFFER_DESTROY":             "PJRT_Buffer_Destroy",
	"XP_BUFFER_TYPE":                "PJRT_Buffer_ElementType",
	"XP_BUFFER_DIMS":                "PJRT_Buffer_Dimensions",
	"XP_BUFFER_TO_HOST":             "PJRT_Buffer_ToHostBuffer",
	"XP_BUFFER_POINTER":             "PJRT_Buffer_UnsafePointer",
}

// TestABI has the C compiler hold every structure, field and place of our header against the
// header that go-xla is built from.
func TestABI(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gomlx/go-xla").Output()
	require.NoError(t, err)
	dir := strings.TrimSpace(string(out))
	require.NotEmpty(t, dir)
	var text strings.Builder
	text.WriteString("#include \"pjrt_c_api.h\"\n#include \"pjrt_abi.h\"\n")
	same := func(format, a, b string) {
		fmt.Fprintf(&text, "_Static_assert("+format+" == "+format+", \"%s and %s\");\n", a, b,
			strings.ReplaceAll(a, ",", ""), strings.ReplaceAll(b, ",", ""))
	}
	for structs, fields := range abiFields {
		ours, theirs, ok := strings.Cut(structs, " ")
		require.True(t, ok)
		if ours != "xp_api" {
			same("sizeof(%s)", ours, theirs)
		}
		for _, pair := range append(fields, "struct_size", "extension_start") {
			our, their, ok := strings.Cut(pair, " ")
			if !ok {
				their = our
			}
			same("offsetof(%s)", ours+", "+our, theirs+", "+their)
			if our != "fn" {
				fmt.Fprintf(&text, "_Static_assert(sizeof(((%s *)0)->%s) == sizeof(((%s *)0)->%s), \"size of "+
					"%s.%s\");\n", ours, our, theirs, their, ours, our)
			}
		}
	}
	for our, their := range abiPlaces {
		fmt.Fprintf(&text, "_Static_assert(offsetof(xp_api, fn) + %s * sizeof(void *) == offsetof(PJRT_Api, %s), "+
			"\"%s\");\n", our, their, our)
	}
	for our, their := range map[string]string{"XP_STRING": "kString", "XP_INT64": "kInt64",
		"XP_INT64_LIST": "kInt64List", "XP_FLOAT": "kFloat", "XP_BOOL": "kBool"} {
		fmt.Fprintf(&text, "_Static_assert((int)%s == (int)PJRT_NamedValue_%s, \"%s\");\n", our, their, our)
	}
	text.WriteString("_Static_assert(sizeof(PJRT_Api) <= offsetof(xp_api, fn) + XP_PADDED * sizeof(void *), \"\");\n" +
		"_Static_assert(XP_UNTIL_TRANSFERRED == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes, \"\");\n" +
		"_Static_assert(PJRT_Buffer_MemoryLayout_Type_Tiled == 0, \"\");\n")
	ctest.Compile(t, text.String(), "-c", "-I", filepath.Join(dir, "pjrt"))
}
