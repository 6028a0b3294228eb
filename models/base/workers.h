// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace steppe {

/// Threads that share out the arithmetic of one instruction while SystemC's own thread waits for
/// it: simulated time and order do not depend on how many there are.
class Workers {
 public:
  /// `count` threads in all, the caller of `run` among them; at least 1.
  explicit Workers(std::size_t count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] std::size_t count() const { return threads_.size() + 1; }

  /// Calls body(task, worker) for every task below `tasks`, in any order, and returns when all have
  /// ended; `worker` is below count() and tells scratch memories apart. The body throws nothing.
  void run(std::size_t tasks, const std::function<void(std::size_t, std::size_t)>& body);

 private:
  void serve(std::size_t worker);
  void take_tasks(std::size_t worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::size_t, std::size_t)>* body_ = nullptr;
  std::size_t tasks_ = 0;
  std::size_t round_ = 0;
  std::size_t at_work_ = 0;
  bool ended_ = false;
  std::atomic<std::size_t> next_{0};
};

}  // namespace steppe
