import CLinux
import Glibc
import Synchronization

/// A thread that waits for the descriptors of all sources with epoll(7), and notifies the sources.
final class DescriptorPoller: Sendable {
    static let shared = DescriptorPoller()
    /// The maximum number of events per call of epoll_wait(2).
    private static let maximumEvents = 64

    private struct Listener {
        weak var source: DescriptorSource?
    }

    private let numbers = Atomic<UInt64>(0)
    private let listeners = Mutex<[UInt64: Listener]>([:])
    /// The epoll descriptor; -1 before its creation.
    private let instance = Mutex<Int32>(-1)
    private let canUseEpoll: Bool

    init(canUseEpoll: Bool = true) { self.canUseEpoll = canUseEpoll }

    func number() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    func add(_ source: DescriptorSource) { listeners.withLock { $0[source.number] = Listener(source: source) } }

    func remove(_ number: UInt64) { listeners.withLock { $0[number] = nil } }

    /// Enables one notification of the source.
    /// - Returns: `false` if the kernel rejects the descriptor.
    func arm(_ source: DescriptorSource, _ interest: DescriptorSource.Interest) -> Bool {
        guard let epoll = open() else { return false }
        var event = epoll_event(
            events: UInt32(UInt16(bitPattern: interest.pollEvents)) | EPOLLONESHOT.rawValue,
            data: epoll_data_t(u64: source.number))
        // The descriptor is already registered, unless this is its first notification.
        if epoll_ctl(epoll, EPOLL_CTL_MOD, source.descriptor, &event) == 0 { return true }
        return errno == ENOENT && epoll_ctl(epoll, EPOLL_CTL_ADD, source.descriptor, &event) == 0
    }

    /// Removes the descriptor from epoll, which would report hang-ups and errors even with an empty interest.
    func disarm(_ descriptor: Int32) {
        let epoll = instance.withLock { $0 }
        if epoll >= 0 { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }
    }

    private func open() -> Int32? {
        guard canUseEpoll else { return nil }
        return instance.withLock { instance in
            if instance >= 0 { return instance }
            let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { return nil }
            guard startThread(epoll) else {
                close(epoll)
                return nil
            }
            instance = epoll
            return epoll
        }
    }

    private final class ThreadArgument {
        let (poller, epoll): (DescriptorPoller, Int32)
        init(_ poller: DescriptorPoller, _ epoll: Int32) { (self.poller, self.epoll) = (poller, epoll) }
    }

    private func startThread(_ epoll: Int32) -> Bool {
        var (allSignals, previousMask) = (sigset_t(), sigset_t())
        sigfillset(&allSignals)
        pthread_sigmask(SIG_SETMASK, &allSignals, &previousMask)
        defer { pthread_sigmask(SIG_SETMASK, &previousMask, nil) }
        var thread = pthread_t()
        let start = Unmanaged.passRetained(ThreadArgument(self, epoll))
        let code = pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer else { return nil }
                let start = Unmanaged<ThreadArgument>.fromOpaque(pointer).takeRetainedValue()
                start.poller.wait(start.epoll)
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func wait(_ epoll: Int32) -> Never {
        var events = [epoll_event](repeating: epoll_event(), count: Self.maximumEvents)
        while true {
            // The only possible error is EINTR, which a debugger causes.
            let count = epoll_wait(epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(0, count))) {
                // Release the source outside the lock: if this is the last reference, its deinitialiser takes the lock.
                let source = listeners.withLock { $0[event.data.u64]?.source }
                source?.notify(DescriptorSource.Interest(pollEvents: Int16(truncatingIfNeeded: event.events)))
            }
        }
    }
}
