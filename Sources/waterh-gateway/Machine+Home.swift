import CommandSupport
import Foundation
import Store

extension Machine {
    /// The identity of the machine and the store for the publisher.
    static func home(of path: String) -> StoreOrigin {
        let handle = FileHandle(forReadingAtPath: "/etc/machine-id")
        let number = (try? handle?.read(upToCount: 64)).flatMap { $0 } ?? Data()
        return StoreOrigin(machine: String(decoding: number, as: UTF8.self), path: path)
    }
}
