// Says where llama.cpp has the layers and tensors of a model, for a launch line of llama-server.
//
//   placement FIRST_PORT SERVERS -m model.gguf --rpc 127.0.0.1:PORT,... -ngl 5 -ts 3,2 -ot 'PATTERN=CPU' ...
//
// The line is read by llama.cpp's own parser, and the model is loaded by its own loader. GPUs are RPC servers on the
// processor, which are started here. It prints "layer NUMBER DEVICE", where a layer's cache is, "tensor NAME BUFFER", and
// "tower mmproj DEVICE", if the line has --mmproj: where clip_ctx puts what reads images.

#include "arg.h"
#include "common.h"
#include "ggml-rpc.h"
#include "llama-model.h"
#include "llama.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

static void quiet(ggml_log_level level, const char * text, void *) {
    if (level >= GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

int main(int argc, char ** argv) {
    if (argc < 3) {
        return 2;
    }
    const int port = atoi(argv[1]), servers = atoi(argv[2]);
    llama_log_set(quiet, nullptr);
    llama_backend_init();
    for (int i = 0; i < servers; i++) {
        std::thread([port, i] {
            const std::string endpoint = "127.0.0.1:" + std::to_string(port + i);
            ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
            ggml_backend_rpc_start_server(endpoint.c_str(), nullptr, 1, 1, &cpu);
        }).detach();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(servers > 0 ? 300 : 0));
    common_params params;
    argv[2] = argv[0];
    if (!common_params_parse(argc - 2, argv + 2, params, LLAMA_EXAMPLE_SERVER)) {
        return 3;
    }
    llama_model_params wanted = common_model_params_to_llama(params);
    llama_model * model = llama_model_load_from_file(params.model.path.c_str(), wanted);
    if (model == nullptr) {
        return 4;
    }
    for (int i = 0; i < llama_model_n_layer(model); i++) {
        printf("layer %d %s\n", i, ggml_backend_dev_name(model->dev_layer(i)));
    }
    for (const auto & [name, tensor] : model->tensors_by_name) {
        printf("tensor %s %s\n", name.c_str(), ggml_backend_buffer_name(tensor->buffer));
    }
    if (!params.mmproj.path.empty()) {
        ggml_backend_dev_t device = params.mmproj_use_gpu ? params.mmproj_device : nullptr;
        if (params.mmproj_use_gpu && device == nullptr) {
            device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
        }
        printf("tower mmproj %s\n", device == nullptr ? "CPU" : ggml_backend_dev_name(device));
    }
    fflush(stdout);
    _Exit(0);  // servers have no end
}
