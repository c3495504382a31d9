import Bluetooth
import Glibc

extension UnixSocket {
    /// Returns a blocking stream socket that is connected to the path.
    /// - Parameter limit: the time limit of a read or write in seconds.
    func connect(limit: Int) throws(LinkError) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw LinkError(.system, "cannot create a socket", cause: String(cString: strerror(errno)))
        }
        var time = timeval(tv_sec: limit, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        let error = withAddress { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard error == 0 else {
            close(descriptor)
            throw LinkError(.connectFailed, "no process listens at \(path)", cause: String(cString: strerror(error)))
        }
        return descriptor
    }
}
