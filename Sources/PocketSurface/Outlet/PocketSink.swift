import TrackerCore

/// A phone as a place where notifications are shown: what its server has taken counts as told (tracker law B7, K-B15).
public struct PocketSink: NotificationSink {
    /// The service's name.
    public let name: String
    private let outlet: PocketOutlet

    /// What its outlet is given to bring.
    public init(_ outlet: PocketOutlet) { (name, self.outlet) = (outlet.service.rawValue, outlet) }

    public func canShow() async -> Bool { outlet.isOn }

    public func deliver(_ notification: TrackerNotification) async -> Bool { await outlet.deliver(notification) }

    public func close(id: String) async { await outlet.close(place: id) }
}
