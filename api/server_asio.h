// The Asio types of the server: one executor for all, so that nothing is type-erased on the way of
// a byte.
#pragma once

#include <chrono>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace offcut::api {

using ServerExecutor = boost::asio::io_context::executor_type;
using ServerSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, ServerExecutor>;
using ServerTimer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, ServerExecutor>;
template <typename T>
using ServerAwaitable = boost::asio::awaitable<T, ServerExecutor>;

// Awaits without a throw: the error is the first element of the result.
inline constexpr boost::asio::as_tuple_t<boost::asio::use_awaitable_t<ServerExecutor>>
    kServerAwait{};

}  // namespace offcut::api
