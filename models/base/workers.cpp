// SPDX-License-Identifier: Apache-2.0
#include "models/base/workers.h"

namespace steppe {

Workers::Workers(std::size_t count) {
  for (std::size_t worker = 1; worker < count; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::size_t tasks, const std::function<void(std::size_t, std::size_t)>& body) {
  if (threads_.empty() || tasks < 2) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    tasks_ = tasks;
    next_ = 0;
    at_work_ = threads_.size();
    ++round_;
  }
  wake_.notify_all();
  take_tasks(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return at_work_ == 0; });
}

void Workers::serve(std::size_t worker) {
  std::size_t served = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ended_ || round_ != served; });
    if (ended_) return;
    served = round_;
    lock.unlock();
    take_tasks(worker);
    lock.lock();
    if (--at_work_ == 0) done_.notify_one();
  }
}

void Workers::take_tasks(std::size_t worker) {
  for (std::size_t task = next_++; task < tasks_; task = next_++) (*body_)(task, worker);
}

}  // namespace steppe
