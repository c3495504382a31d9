import CLinux
import Glibc
import Synchronization

/// One thread that waits for the descriptors of all sources, in an epoll instance, and hands each word on to its
/// source.
final class DescriptorPoller: Sendable {
    static let shared = DescriptorPoller()
    /// Words taken in one turn.
    private static let turn = 64

    private struct Listener {
        weak var source: DescriptorSource?
    }

    private let numbers = Atomic<UInt64>(0)
    private let listeners = Mutex<[UInt64: Listener]>([:])
    /// -1 until one could be made.
    private let instance = Mutex<Int32>(-1)
    private let isAbleToWait: Bool

    /// - Parameter isAbleToWait: `false` for tests: as where the kernel has no room.
    init(isAbleToWait: Bool = true) { self.isAbleToWait = isAbleToWait }

    func number() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    func add(_ source: DescriptorSource) { listeners.withLock { $0[source.number] = Listener(source: source) } }

    func remove(_ number: UInt64) { listeners.withLock { $0[number] = nil } }

    /// Tells the source once.
    /// - Returns: `false` where the kernel does not take it.
    func arm(_ source: DescriptorSource, _ interest: DescriptorSource.Interest) -> Bool {
        guard let epoll = open() else { return false }
        var event = epoll_event(
            events: UInt32(UInt16(bitPattern: interest.pollEvents)) | EPOLLONESHOT.rawValue,
            data: epoll_data_t(u64: source.number))
        // Mostly it is there already, and was only told.
        if epoll_ctl(epoll, EPOLL_CTL_MOD, source.descriptor, &event) == 0 { return true }
        return errno == ENOENT && epoll_ctl(epoll, EPOLL_CTL_ADD, source.descriptor, &event) == 0
    }

    /// An end is told even of a descriptor of which nothing is asked, so it is taken out.
    func disarm(_ descriptor: Int32) {
        let epoll = instance.withLock { $0 }
        if epoll >= 0 { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }
    }

    private func open() -> Int32? {
        guard isAbleToWait else { return nil }
        return instance.withLock { instance in
            if instance >= 0 { return instance }
            let made = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard made >= 0 else { return nil }
            guard begin(made) else {
                close(made)
                return nil
            }
            instance = made
            return made
        }
    }

    private final class Start {
        let (poller, epoll): (DescriptorPoller, Int32)
        init(_ poller: DescriptorPoller, _ epoll: Int32) { (self.poller, self.epoll) = (poller, epoll) }
    }

    /// A thread for good, which takes no signals: those are others'.
    private func begin(_ epoll: Int32) -> Bool {
        var (none, before) = (sigset_t(), sigset_t())
        sigfillset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(self, epoll))
        let code = pthread_create(
            &thread, nil,
            { words in
                guard let words else { return nil }
                let start = Unmanaged<Start>.fromOpaque(words).takeRetainedValue()
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
        var events = [epoll_event](repeating: epoll_event(), count: Self.turn)
        while true {
            // It fails with EINTR at most, where a debugger stops us.
            let count = epoll_wait(epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(0, count))) {
                // Not released with the lock held: it may be the last that has it.
                let source = listeners.withLock { $0[event.data.u64]?.source }
                source?.tell(DescriptorSource.Interest(pollEvents: Int16(truncatingIfNeeded: event.events)))
            }
        }
    }
}
