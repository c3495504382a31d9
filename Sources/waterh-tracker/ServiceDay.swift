import CommandSupport
import Store

/// A day that is not this user's to open, and that a service keeps whose socket is open to this user: it is asked
/// instead.
struct ServiceDay {
    let socket: ServiceSocket

    /// `nil` where the store is open to this user, where nobody answers, or where another moment is meant than the
    /// service's own.
    init?(_ place: StorePlace, for access: TrackerStore.Access, _ options: StoreOptions) {
        guard place.isShut(for: access), options.now == nil, Machine.variable("WATERH_NOW") == nil else { return nil }
        socket = ServiceSocket(path: ServiceSocket.path(forStore: place.path)) { Advice.about(code: $0) }
        guard socket.isAnswering else { return nil }
    }

    /// The day as it is now, to look at.
    func copy() throws -> Copy {
        let copy = Copy(folder: try ScratchFolder())
        try socket.get("/api/v1/backup", to: copy.path)
        return copy
    }

    /// Lasts as long as somebody has it.
    struct Copy {
        fileprivate let folder: ScratchFolder
        var path: String { folder.file("day.sqlite") }
    }
}
